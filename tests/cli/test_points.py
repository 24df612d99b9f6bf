"""Points composed by us against the same points composed by Hydra alone: equal to the type and the order of keys."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from machine import REPOSITORY
from omegaconf import DictConfig, OmegaConf, open_dict

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.cli.points import PointComposer
from mosaic_pipe.cli.specs import split_call
from mosaic_pipe.spec.compose import compose_spec

# Presets of a user: what a config may do that ours do not.
PRESETS = {
    "algo/linked.yaml": "defaults: [ppo]\nnative: {seed: '${seed}', rate: '${algo.learning_rate}', x: 1}\n",
    "algo/lists.yaml": "defaults: [dqn]\nnative: {hidden: [64, 64], deep: [[1, a], [null, true]], none: null}\n",
    "algo/hollow.yaml": "defaults: [ppo]\nnative: null\ngamma: ???\n",
    "env/aliased.yaml": "defaults: [cartpole]\nkwargs: ${labels}\n",
    "env/broken.yaml": "defaults: [cartpole]\nkwargs: {where: '${nowhere}'}\n",
    "env/homeless.yaml": "defaults: [cartpole]\nkwargs: {home: '${oc.env:NO_SUCH_VARIABLE}'}\n",
    "env/nested.yaml": "defaults: [cartpole]\nkwargs: {1: one, list: [{x: 1, y: '${seed}'}, 2], h: '${oc.env:HOME}'}\n",
    "reward/sparse.yaml": "scale: ${seed}\n",
    "tracking/linked.yaml": "# @package _global_\nlabels: {seed: '${seed}', first: '${labels.seed}', note: a}\n",
}
CHOICES = {
    "algo": ["ppo", "dqn", "linked", "lists", "hollow"],
    "env": ["cartpole", "acrobot", "aliased", "nested"],
    "tracking": ["none", "both", "linked"],
    "curriculum": ["none", "babyai_goto"],
}
BAD_CHOICES = [
    "algo=pppo", "algo='ppo'", "env=broken", "~tracking", "+algo@labels.other=dqn", "algo@other=dqn", "~nope",
    "++algo=ppo", "algo=3", "wrker=x",
]  # fmt: skip
EVERYWHERE = [
    "seed", "seed", "total_timesteps", "mode", "sweep", "labels", "resume.run", "output_dir", "dry_run", "algo.gamma",
    "algo.learning_rate", "algo.native", "env.kwargs", "resources.gpus", "curriculum.stages",
]  # fmt: skip
SOMEWHERE = {
    "algo=linked": ["algo.native.seed", "algo.native.x", "algo.target_kl"],
    "algo=lists": [
        "algo.native.hidden", "algo.native.hidden.0", "algo.native.deep.1", "algo.native.deep.1.0", "algo.native.none"
    ],
    "env=nested": ["env.kwargs.1", "env.kwargs.list", "env.kwargs.list.0.x", "env.kwargs.list.1", "env.kwargs.h"],
    "env=aliased": ["env.kwargs.note", "env.kwargs.seed"],
    "tracking=linked": ["labels.note", "labels.seed"],
    "curriculum=babyai_goto": ["curriculum.stages.0.until", "curriculum.stages.1.env_id"],
}  # fmt: skip
NEW = [
    "labels.new", "labels.other", "algo.native.new", "algo.native.a.b", "algo.tau", "env.kwargs.new", "top",
    "resources.x", "curriculum.stages.9",
]  # fmt: skip
NOWHERE = [
    "sed", "seed.x", "algo.native.none.deeper", "env.kwargs.list.9", "env.kwargs.where", "curriculum.stages.00.until",
]  # fmt: skip
PLAIN_VALUES = [
    "1", "-3", "007", "1_000", "1e6", "2.50", ".5", "inf", "nan", "true", "FALSE", "null", "abc", "", "a b", "'a,b'",
    '"1"', "'a\\'b'", "a\\,b", "\\\\", "???", "1:2", "'steps>=8000'", "int(3.7)", "str(1e6)",
]  # fmt: skip
OTHER_VALUES = [
    "[]", "[1,2.0,x]", "[[1,null],['2',true]]", "[{a:1}]", "{}", "{a:1,b:[x]}", "${seed}", "s-${seed}", "'${labels}'",
    "[${seed}]", "${nope}", "${oc.env:HOME}", "\\${seed}", "1,2", "[1",
]  # fmt: skip


@dataclass
class TypedAlgo:
    """What a plugin of Hydra may bring: a config whose values are checked, and made what they should be."""

    name: str = "ppo"
    gamma: float = 0.9


class Multirun:
    """A multirun's loader and config, and a composer that lives as long as they do."""

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self.loader, self.master = loader, master
        self.composer = PointComposer(loader, master)

    def ours(self, overrides: Sequence[str]) -> tuple[Any, Any]:
        point = self.composer.compose(overrides)
        assert point.overrides == tuple(overrides)
        return point.config, point.choices

    def hydras(self, overrides: Sequence[str]) -> tuple[Any, Any]:
        config = self.loader.load_sweep_config(self.master, list(overrides))
        choices = OmegaConf.to_container(config.hydra.runtime.choices)
        with open_dict(config):
            del config["hydra"]
        return OmegaConf.to_container(config, resolve=True), choices

    def both(self, overrides: Sequence[str]) -> tuple[str, str]:
        """What ours and Hydra's way lead to, as text."""
        return told(self.ours, overrides), told(self.hydras, overrides)


def told(way: Callable[[Sequence[str]], Any], overrides: Sequence[str]) -> str:
    """A result or an error, with types and order: 1, 1.0 and True differ, nan is nan."""
    try:
        return repr(way(overrides))
    except Exception as error:
        return f"{type(error).__name__}: {error} <- {error.__cause__!r}"


def multirun(*overrides: str) -> Multirun:
    with initialize_config_dir(str(REPOSITORY / "conf"), version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra
        return Multirun(hydra.config_loader, hydra.compose_config("config", list(overrides), RunMode.MULTIRUN))


@pytest.fixture(scope="module")
def plain() -> Multirun:
    """Our own configs."""
    return multirun()


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Multirun:
    """Our configs and a user's; one composer for all tests."""
    folder = tmp_path_factory.mktemp("presets")
    for name, text in PRESETS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    ConfigStore.instance().store(group="algo", name="typed", node=TypedAlgo)
    return multirun(f"hydra.searchpath=[file://{folder}]")


def random_point(chance: random.Random) -> list[str]:
    """Some choices, then some overrides of keys, mostly such as can be applied."""
    groups = chance.sample(list(CHOICES), chance.choice([0, 1, 2, 2, 3]))
    overrides = [f"{group}={chance.choice(CHOICES[group])}" for group in groups]
    keys = EVERYWHERE + 2 * [key for choice in overrides for key in SOMEWHERE.get(choice, [])]
    overrides += [random_override(chance, keys) for _ in range(chance.choice([1, 1, 2, 2, 3, 4]))]
    if chance.random() < 0.05:
        overrides.append(chance.choice(BAD_CHOICES))
    if chance.random() < 0.2:
        chance.shuffle(overrides)
    return overrides


def random_override(chance: random.Random, keys: list[str]) -> str:
    value = chance.choice(PLAIN_VALUES if chance.random() < 0.8 else OTHER_VALUES)
    match chance.random():
        case luck if luck < 0.65:
            return f"{chance.choice(keys)}={value}"
        case luck if luck < 0.85:
            return f"{chance.choice(['+', '+', '++'])}{chance.choice(NEW)}={value}"
        case luck if luck < 0.92:
            return f"~{chance.choice(keys)}"
    return f"{chance.choice(['', '+', '++', '~'])}{chance.choice([*keys, *NEW, *NOWHERE])}={value}"


@pytest.mark.parametrize("number", range(10))
def test_random_points_are_as_hydra_composes_them(preset: Multirun, number: int) -> None:
    chance = random.Random(number)
    for _ in range(12):
        overrides = random_point(chance)
        ours, hydras = preset.both(overrides)
        assert ours == hydras, overrides


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["worker=cleanrl", "algo=dqn", "env=acrobot", "algo.learning_rate=1e-3", "seed=7"],
        ["algo=linked", "seed=3", "algo.learning_rate=1"],
        ["tracking=linked", "seed=3", "labels.note=b"],
        ["tracking=linked", "labels.seed=9", "seed=3", "+labels.more=[1,[2]]"],
        ["env=aliased", "tracking=linked", "seed=4"],
        ["env=aliased", "tracking=linked", "labels.note=b", "env.kwargs.note=through"],
        ["env=aliased", "tracking=linked", "labels.note=b", "+env.kwargs.note=in the way"],
        ["env=aliased", "tracking=linked", "labels.note=null", "+env.kwargs.note=not in the way"],
        ["tracking=linked", "labels.seed=null", "+labels.first=not in the way"],
        ["tracking=linked", "labels.seed=3", "~labels.first=3"],
        ["env.kwargs=[1]"],
        ["env.kwargs=3", "labels=null", "algo.gamma=[1]", "seed={a: 1}"],
        ["+reward=sparse", "seed=2"],
        ["reward=sparse", "seed=2"],
        ["env=aliased", "env.kwargs=[1]"],
        ["+labels.s=${sweep}", "sweep=a"],
        ["env=broken", "env.kwargs.where=here"],
        ["env=broken", "seed=2"],
        ["env=homeless", "env.kwargs.home=here"],
        ["env=homeless", "seed=2"],
        ["env=nested", "env.kwargs.list.0.x=2", "env.kwargs.list.1=[3]", "env.kwargs.1=x"],
        ["algo=lists", "algo.native.hidden=[1,2,3]", "algo.native.deep.1.0=x"],
        ["algo=hollow", "algo.native=[1]"],
        ["algo=hollow", "algo.native={a:1}", "algo.gamma=0.5"],
        ["curriculum=babyai_goto", "curriculum.stages.0.until='steps>=8000'", "seed=2"],
        ["worker=script", "+worker.script=./train.sh"],
        ["worker=script", "worker.script=./train.sh", "seed=2"],
        ["labels={a:1}", "seed=2"],
        ["+labels={a:1}", "+algo.native.x=1", "seed=2"],
        ["+labels.b=1", "~mode", "+labels.a={x:1}", "++labels.c=3"],
        ["+algo.native.b=1", "+algo.native.a.x=1", "+algo.new=2", "+labels={c:1}", "++env.kwargs.x=1", "+top=1"],
        ["seed=1", "seed=2"],
        ["env.kwargs=null", "+env.kwargs.x=1"],
        ["algo=pppo", "seed=2"],
        ["algo=pppo", "seed=1,2"],
        ["algo=dqn", "algo.clip_coef=1", "seed=2"],
        ["seed=2", "sed=1", "algo.typo=3"],
        ["algo.gamma=${nope}", "seed=2"],
        ["algo.gamma=${seed}", "seed=2"],
        ["+seed=2", "mode=x"],
        ["++seed=2", "++labels.a=x", "+labels.b=y"],
        ["+sweep=x", "mode=x"],
        ["algo=typed", "algo.gamma=1", "seed=2"],
        ["algo=typed", "algo.gamma=abc", "seed=2"],
        ["env/x=1"],
        ["seed@x=3"],
        ["algo.gamma=0.1", "algo={gamma: 0.5}", "seed=2"],
        ["=3"],
    ],
    ids=" ".join,
)
def test_a_point_is_as_hydra_composes_it(preset: Multirun, overrides: list[str]) -> None:
    ours, hydras = preset.both(overrides)
    assert ours == hydras


def test_points_share_nothing_that_can_be_changed(plain: Multirun) -> None:
    overrides = ["algo=ppo", "curriculum=babyai_goto", "+algo.native.hidden=[1,[2]]"]
    config, choices = plain.ours(overrides)
    before = repr((config, choices))
    config["algo"]["native"]["hidden"][1].append(3)
    config["algo"]["native"]["new"] = 1
    config["curriculum"]["stages"][0]["until"] = "changed"
    config.clear()
    choices.clear()
    assert repr(plain.ours(overrides)) == before


def test_a_sweep_costs_hydra_one_composition_for_each_combination_of_choices(
    plain: Multirun, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    load = plain.loader.load_sweep_config

    def counting(master: DictConfig, overrides: list[str]) -> DictConfig:
        asked.append(overrides)
        return load(master, overrides)

    monkeypatch.setattr(plain.loader, "load_sweep_config", counting)
    composer = PointComposer(plain.loader, plain.master)
    for algo in ("ppo", "dqn"):
        for seed in range(50):
            composer.compose([f"algo={algo}", "+algo.native.x=1", "output_dir=/tmp/x", f"seed={seed}"])
    assert asked == [["algo=ppo"], ["algo=dqn"]]
    for seed in range(50):  # also where all of them are refused
        with pytest.raises(Exception, match=r"Could not override 'algo.typo'"):
            composer.compose(["algo=ppo", "algo.typo=1", f"seed={seed}"])
    assert asked[2:] == [["algo=ppo", "algo.typo=1"]]


def test_an_error_is_raised_where_hydra_raised_it(plain: Multirun) -> None:
    depths = []
    for _ in range(3):
        with pytest.raises(Exception, match="Could not override") as refused:
            plain.ours(["sed=1"])
        assert "hydra" in Path(refused.traceback[-1].path).parts
        depths.append(len(refused.traceback))
    assert len(set(depths[1:])) == 1


@pytest.mark.parametrize(
    "override", ["hydra.verbose=true", "hydra/launcher=basic", "+hydra.x=1", "~hydra", "hydra={a:1}"]
)
def test_hydras_own_settings_are_not_a_points(plain: Multirun, override: str) -> None:
    with pytest.raises(SpecError, match="hold for the whole sweep"):
        plain.ours(["seed=1", override])


def test_points_become_specs(plain: Multirun) -> None:
    config, _ = plain.ours(["algo=dqn", "total_timesteps=1e6", "+algo.native.x=1", "seed=7"])
    _, spec_keys = split_call(config)
    spec = compose_spec(spec_keys)
    assert (spec.algo.name, spec.total_timesteps, spec.algo.native, spec.seed) == ("dqn", 1_000_000, {"x": 1}, 7)
