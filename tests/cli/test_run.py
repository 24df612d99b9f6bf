"""``mosaic-pipe OVERRIDES…`` as a Hydra user meets it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from machine import REPOSITORY, Machine

RANDOM = ["worker=random", "algo=random", "env=cartpole", "total_timesteps=300"]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["sed=1"], ["sed: unknown key", "did you mean 'seed'?"]),
        (["algo.learning_rat=1"], ["algo.learning_rat: unknown key", "did you mean 'learning_rate'?"]),
        (["+algo.learning_rat=1"], ["algo.learning_rat (command line): unknown key", "'learning_rate'?"]),
        (["algo=pppo"], ["there is no algo 'pppo'", "did you mean 'ppo'?"]),
        (["wrker=cleanrl"], ["wrker: unknown key", "did you mean 'worker'?"]),
        (["seed=abc"], ["seed (command line): expected `int`, got `str` (given: 'abc')"]),
        (["total_timesteps=-5"], ["total_timesteps (command line): expected `int` >= 1 (given: -5)"]),
        (["algo.gamma=2"], ["algo.gamma (command line): expected `float` <= 1.0"]),
        (["algo.gamma=null"], ["algo.gamma (command line): expected `float`, got `null`"]),
        (["mode=trian"], ["mode (command line)", "did you mean 'train'?"]),
        (["mode=policy_eval"], ["mode=policy_eval starts from a checkpoint", "set resume.run=last"]),
        (["worker.name=clenrl"], ["no worker 'clenrl'", "did you mean 'cleanrl'?"]),
        (["algo.name=dqnn"], ["cleanrl has no algorithm 'dqnn'", "did you mean 'dqn'?"]),
        (["algo=dqn", "env=pendulum"], ["env.action_space: cleanrl's dqn does not do 'continuous'"]),
        (["algo=sac_continuous_action"], ["env.action_space", "does not do 'discrete'", "it does: continuous"]),
        (["env.family=jumanji"], ["env.family: cleanrl does not do 'jumanji'"]),
        (["algo=dqn", "+algo.clip_coef=0.3"], ["algo.clip_coef: cleanrl's dqn has no hyperparameter"]),
        (["+algo.native.learning_strts=3", "algo=dqn"], ["no such parameter", "did you mean 'algo.learning_starts'?"]),
        (["+algo.native.torch_determinstic=true"], ["no such parameter", "did you mean 'torch_deterministic'?"]),
        (["+algo.native.torch_deterministic=3"], ["algo.native.torch_deterministic: expected bool, got 3"]),
        (["+algo.native.seed=3"], ["algo.native.seed: is set by another key", "use seed"]),
        (["+env._target_=os.system"], ["env._target_", "asks for code to be executed"]),
        (["env.id=os:CartPole-v1"], ["names a module to import"]),
        (["+algo.native.wandb_api_key=abc"], ["a secret has no place in a config"]),
        (["env=custom"], ["env.id (env/custom.yaml): has no value yet"]),
        (["resources.gpus=64"], ["resources.gpus: 64 asked for"]),
        (["curriculum.stages=[{env_id:x}]"], ["is not the environment of the curriculum's first stage, 'x'"]),
        (["eval.episodes=0"], ["eval.episodes (command line): expected `int` >= 1"]),
        (["seed=[1"], ["override_grammar"]),
        (["+seed=2"], ["already at 'seed'"]),
        (["env.kwargs=3"], ["env.kwargs (command line): expected `object`, got `int`"]),
        (["labels.a=1"], ["labels.a: unknown key"]),
        (["worker.python=/no/such/python"], ["no such interpreter"]),
        (["dry_run=perhaps"], ["dry_run: expected `bool`, got `str` (given: 'perhaps')"]),
        (["output_dir=null"], ["output_dir: expected `str`, got `null`"]),
        (["~dry_run"], ["dry_run: expected `bool`, got `null`"]),
        (["algo.gamma=${nope}"], ["Interpolation key 'nope' not found"]),
        (["algo.gamma=${oc.env:NO_SUCH_VARIABLE}"], ["NO_SUCH_VARIABLE"]),
        (["--cfg", "job", "-m"], ["Only one of --run, --multirun, --cfg"]),
        (["--config-name", "nope"], ["nope"]),
        (["worker.script=./x.sh"], ["worker.script: the chosen configs lack this key", "+worker.script=…"]),
        (["algo.tau=0.1"], ["algo.tau: the chosen configs lack this key"]),
        (["hydra/launcher=slrum"], ["there is no hydra/launcher 'slrum'", "did you mean 'slurm'?"]),
        (["hydra/launcher=slurm"], ["hydra/launcher=slurm: launches sweeps, and this is a single run", "add -m"]),
        (["detach=true"], ["detach: is for sweeps", "add -m"]),
        (["--config-dir", "/no/such/dir"], ["Additional config directory '/no/such/dir' not found"]),
    ],
    ids=lambda value: " ".join(value) if value and isinstance(value, list) and "=" in value[0] else None,
)
def test_bad_input_is_one_message(machine: Machine, overrides: list[str], said: list[str]) -> None:
    expected = 3 if "worker.python=/no/such/python" in overrides else 2
    machine.run(*overrides, expect=expected)
    assert machine.stderr.count("error:") == 1
    for words in said:
        assert words in machine.stderr
    assert "Traceback" not in machine.stderr
    assert not machine.outputs.exists()
    assert list(machine.folder.iterdir()) == []


def test_help_names_groups_commands_and_exit_codes(machine: Machine) -> None:
    for arguments in ([], ["--help"]):
        text = machine.run(*arguments)
        assert "algo: a2c, appo," in text
        assert "mosaic-pipe runs --help" in text
        assert "Exit codes: 0 completed" in text


def test_keys_of_the_algorithms_that_are_swept_over(machine: Machine) -> None:
    """Hydra looks for them in the default algorithm, which has no replay buffer."""
    assert "4 points: 4 new" in machine.run("plan", "algo=dqn,c51", "algo.buffer_size=1000", "seed=1,2")
    machine.run("plan", "algo=dqn,ppo", "algo.buffer_size=1000", expect=2)
    assert "algo=ppo algo.buffer_size=1000: algo.buffer_size: the chosen configs lack this key" in machine.stderr


def test_the_config_shows_what_would_run(machine: Machine) -> None:
    text = machine.run("--cfg", "job", "algo=dqn", "seed=7")
    assert "seed: 7" in text
    assert "name: dqn" in text
    assert machine.run("--cfg", "job", "--package", "env").startswith("# @package env\nid: CartPole-v1")
    assert "Config search path" in machine.run("--info", "searchpath")


def test_a_folder_of_ones_own_adds_presets(machine: Machine, tmp_path: Path) -> None:
    preset = tmp_path / "my" / "algo" / "quick.yaml"
    preset.parent.mkdir(parents=True)
    preset.write_text("defaults: [ppo]\nnum_envs: 2\n")
    answer = json.loads(machine.run("--config-dir", str(tmp_path / "my"), "algo=quick", "--dry-run"))
    assert answer["spec"]["algo"]["num_envs"] == 2
    assert "--num-envs=2" in answer["worker"]["arguments"]
    preset.write_text("defaults: [ppo]\ngamma: two\n")
    machine.run("--config-dir", str(tmp_path / "my"), "algo=quick", expect=2)
    assert "algo.gamma (algo/quick.yaml): expected `float`, got `str`" in machine.stderr


def test_tab_completion(machine: Machine) -> None:
    script = machine.run("-sc", "install=bash")
    assert "complete" in script
    completing = {**machine.variables, "COMP_LINE": "mosaic-pipe algo=pp", "COMP_POINT": "19"}
    done = subprocess.run(
        machine.command("-sc", "query=bash"),
        env=completing,
        cwd=machine.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"algo=ppo", "algo=ppo_continuous_action"} <= set(done.stdout.split())
    assert all(word.startswith("algo=pp") for word in done.stdout.split())


def test_output_is_plain_lines_outside_a_terminal(machine: Machine) -> None:
    text = machine.run(*RANDOM)
    assert re.search(r"^COMPLETED  \w{26}  300 steps, \d+ steps/s, mean return", text, re.MULTILINE)
    (shown,) = re.findall(r"^  look +(\S+ runs show \S+)$", text, re.MULTILINE)
    done = subprocess.run(shown, shell=True, env=machine.variables, cwd=machine.folder, capture_output=True, check=True)
    assert machine.run_ids()[0].encode() in done.stdout  # what it suggests works as it stands
    assert "\x1b" not in text + machine.stderr
    assert re.search(r"^COMPLETED  300/300 steps", machine.stderr, re.MULTILINE)


def test_nothing_of_the_users_python_leaks_into_a_worker(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "gymnasium.py").write_text("raise RuntimeError('the wrong gymnasium')")
    machine.variables["PYTHONPATH"] = str(tmp_path)
    machine.run(*RANDOM)
    assert machine.manifest()["state"] == "COMPLETED"


def test_secrets_of_the_environment_are_in_no_file(machine: Machine) -> None:
    machine.variables["WANDB_API_KEY"] = "s3cr3t-value"
    machine.run(*RANDOM, "labels={note: https://me:s3cr3t-value@host/x}", expect=None)
    machine.run(*RANDOM)
    for file in machine.outputs.rglob("*"):
        if file.is_file() and "labels" not in file.read_text(errors="replace"):
            assert b"s3cr3t-value" not in file.read_bytes(), file


@pytest.mark.parametrize("file", sorted((REPOSITORY / "conf").rglob("*.yaml")), ids=lambda file: file.stem)
def test_every_key_of_conf_has_a_comment_above(file: Path) -> None:
    before, block = "", ""
    explained: set[str] = set()
    for text in file.read_text().splitlines():
        indent = " " * (len(text) - len(text.lstrip()))
        if block and (len(indent) > len(block) or not text):
            continue  # inside a block of text
        block = f"{indent}|"[:-1] if text.endswith("|-") else ""
        is_key = re.match(r"^ *(- )?[\w /]+: ?", text)
        name = text.strip().removeprefix("- ").partition(":")[0]
        in_list = len(indent) >= 4 and name in explained  # explained at the list's first item
        if is_key and text != "defaults:" and not in_list:
            assert before.lstrip().startswith("#"), text
            explained.add(name)
        before = text
    assert file.read_text().startswith("# ")
