"""Run every algorithm of the workers on an environment that fits, and write down what happened.

For at least 2,000 steps and an update, as scripts/verify/<worker>.yaml says, in virtualenvs that are made as a user's
are. The results go into the table of docs/workers/<worker>.md and into the worker's capabilities.json (``verified``),
which ``mosaic-pipe workers show <worker>`` prints. Two hours on two cores for all.

    scripts/verify_workers                             all; CleanRL's scripts that PyPI lacks come from git
    scripts/verify_workers --checkout ~/cleanrl        … from a checkout
    scripts/verify_workers cleanrl ppo dqn             some algorithms of a worker; the others' rows stay
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from omegaconf import OmegaConf

from mosaic_pipe.base.suggest import did_you_mean

RUNS = Path(__file__).resolve().parent
WORKERS = sorted(path.stem for path in RUNS.glob("*.yaml"))
ROOT = RUNS.parent.parent
CLEANRL_COMMIT = "fe8d8a03c41a7ef5b523e2e354bd01c363e786bb"  # where the scripts that PyPI lacks were read
BEGIN, END = "<!-- verified: begin -->", "<!-- verified: end -->"


def main() -> int:
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was seen until then is written
    failed = []
    for worker in [options.worker] if options.worker else WORKERS:
        failed += [f"{worker} {name}" for name in _verify(worker, options)]
    print(f"{len(failed)} failed {', '.join(failed)}")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("scripts/verify_workers", description=__doc__, formatter_class=how)
    parser.add_argument("worker", nargs="?", metavar="WORKER", choices=WORKERS)
    parser.add_argument("algorithms", nargs="*", metavar="ALGORITHM")
    parser.add_argument("--checkout", type=Path, help="CleanRL's repository, for the scripts that PyPI lacks")
    parser.add_argument("--teachers", type=Path, help="folder with models for QDagger; without it they are downloaded")
    return parser


def _verify(worker: str, options: argparse.Namespace) -> list[str]:
    """Run a worker's algorithms and write what became of them; returns those that failed.

    It is written at the end, or when this is interrupted: each time the worker's virtualenvs become others.
    """
    file = ROOT / "workers" / f"{worker}_worker" / f"{worker}_worker" / "capabilities.json"
    capabilities = json.loads(file.read_text(encoding="utf-8"))
    for name in set(options.algorithms) - set(capabilities["algorithms"]):
        sys.exit(f"error: {worker} has no algorithm {name!r}; {did_you_mean(name, capabilities['algorithms'])}")
    failed: list[str] = []
    try:
        for name in options.algorithms or capabilities["algorithms"]:
            if not _verify_algorithm(worker, name, capabilities["algorithms"][name], options):
                failed.append(name)
    finally:
        file.write_text(json.dumps(capabilities, indent=2) + "\n", encoding="utf-8")
        _write_page(ROOT / "docs" / "workers" / f"{worker}.md", capabilities)
    return failed


def _verify_algorithm(worker: str, name: str, algorithm: dict, options: argparse.Namespace) -> bool:
    """Run one, and note in ``algorithm`` what it did; whether all went well."""
    reason = algorithm.get("unavailable") or ("learns from a dataset, see the page" if algorithm.get("dataset") else "")
    if reason:
        print(f"{worker} {name}: {reason}", flush=True)
        return True
    runs = OmegaConf.to_container(OmegaConf.load(RUNS / f"{worker}.yaml"))
    library = _library(name, algorithm, options)
    results = [_run(worker, name, [*library, *overrides]) for overrides in runs[name]]
    found, good = "; ".join(text for _, text in results), all(good for good, _ in results)
    print(f"{worker} {name}: {found}", flush=True)
    algorithm.pop("verified", None)
    if good:
        algorithm["verified"] = found
    return good


def _library(name: str, algorithm: dict, options: argparse.Namespace) -> list[str]:
    """Overrides for what CleanRL's release lacks: some scripts, and QDagger's teachers."""
    overrides = []
    if "pypi" not in algorithm.get("sources", ["pypi"]):
        overrides = ["worker.source=git", f"worker.commit={CLEANRL_COMMIT}"]
        if options.checkout:
            overrides = ["worker.source=path", f"worker.path={options.checkout.resolve()}"]
    if name.startswith("qdagger") and options.teachers:
        overrides.append(f"+algo.native.teacher_policy_hf_repo={options.teachers.resolve()}")
    return overrides


def _run(worker: str, name: str, overrides: list[str]) -> tuple[bool, str]:
    """Whether a run trained, and what there is to say of it."""
    command = [Path(sys.executable).with_name("mosaic-pipe"), f"worker={worker}", f"algo={name}", *overrides]
    with tempfile.TemporaryDirectory(prefix="verify-") as folder:
        done = subprocess.run([*command, f"output_dir={folder}"], capture_output=True, text=True, check=False)
        if done.returncode:
            reason = re.findall(r"^(?:error: |  [a-z_]+: )(.*)$", done.stderr, re.MULTILINE)
            return (
                False,
                f"{' '.join(overrides)}: exit {done.returncode}: {reason[-1] if reason else done.stderr[-300:]}",
            )
        (run,) = Path(folder, "runs").iterdir()
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        events = (run / "attempts" / "1" / "events.jsonl").read_text(encoding="utf-8")
    # XuanCe's PerDQN reports its exploration with each update, and no loss
    updated, summary = re.search(r'"([^"]*loss[^"]*|epsilon-greedy)":', events), manifest["summary"]
    found = f"{manifest['spec']['env']['id']}, {summary['env_steps']} steps, {summary['sps']:.0f} a second"
    return bool(updated) and summary["env_steps"] >= 2000, found if updated else f"{found}, but no update"


def _write_page(page: Path, capabilities: dict) -> None:
    """The table between the page's marks; a column in which all algorithms are alike is left out."""
    rows = [
        _row(name, facts, capabilities) for name, facts in capabilities["algorithms"].items() if "dataset" not in facts
    ]
    columns = [column for column in rows[0] if len(rows) == 1 or len({row[column] for row in rows}) > 1]
    lines = [columns, ["---"] * len(columns), *([row[column] for column in columns] for row in rows)]
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    table = [f"| {' | '.join(cells)} |" for cells in lines]
    page.write_text("\n".join([before + BEGIN, *table, END + after]), encoding="utf-8")


def _row(name: str, facts: dict, capabilities: dict) -> dict[str, str]:
    return {
        "algorithm": f"`{name}`",
        "actions": ", ".join(facts["action_spaces"]),
        "agents": "several" if facts.get("min_agents", 1) > 1 else "one",
        "observations": ", ".join(facts["observation_spaces"]),
        "environments": ", ".join(facts.get("env_families") or capabilities["env_families"]),
        "extras": ", ".join(facts.get("extras", [])) or "-",
        "source": ", ".join(facts.get("sources", capabilities.get("sources", ["pypi"]))),
        "runs": facts.get("unavailable") or facts.get("verified") or "not verified",
    }


if __name__ == "__main__":
    sys.exit(main())
