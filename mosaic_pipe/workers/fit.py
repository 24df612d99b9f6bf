"""Does this worker do what the spec asks for? Answered before anything is started."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.spec.schema import RunSpec
from mosaic_pipe.workers.capabilities import Algorithm, Capabilities, Description, Feature, wanted_features

_JSON_TYPES: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}
_WITHOUT: dict[Feature, str] = {
    "curriculum": "choose curriculum=none",
    "eval_video": "set eval.video=false",
    "gpu": "set resources.gpus=0",
    "several_nodes": "set resources.nodes=1",
    "training_video": "set tracking.capture_video=false",
    "wandb": "choose tracking=tensorboard or tracking=none",
}


def check_capabilities(spec: RunSpec, worker: Capabilities) -> None:
    """Refuse what ``worker`` rules out.

    Raises:
        SpecError: names the key and what would do.
    """
    name = spec.worker.name
    if spec.algo.name not in worker.algorithms:
        hint = did_you_mean(spec.algo.name, worker.algorithms)
        raise SpecError(f"{name} has no algorithm {spec.algo.name!r}", where="algo.name", hint=hint)
    _check_script(spec, worker)
    if "*" not in worker.env_families:
        _one_of("env.family", spec.env.family, worker.env_families, name)
    _one_of("mode", spec.mode, worker.modes, name)
    _one_of("worker.source", spec.worker.source, worker.sources, name)
    _check_algorithm(spec, worker.algorithms[spec.algo.name], worker)
    for feature, key in wanted_features(spec).items():
        if feature not in worker.features:
            raise SpecError(f"{name} does not do that", where=key, hint=_WITHOUT[feature])
    if worker.requires_gpu and not spec.resources.gpus:
        raise SpecError(f"{name} needs a GPU", where="resources.gpus", hint="set resources.gpus=1")


def check_native(spec: RunSpec, description: Description) -> None:
    """Check ``algo.native`` against the library's own parameters, where the worker tells them.

    Raises:
        SpecError: a parameter that the library lacks, of another type, or that the spec sets itself.
    """
    if spec.worker.source != "pypi" and spec.algo.name not in description.native_parameters:
        found = did_you_mean(spec.algo.name, description.native_parameters)
        raise SpecError(f"worker.source={spec.worker.source} has no {spec.algo.name}", where="algo.name", hint=found)
    known = description.native_parameters.get(spec.algo.name, {})
    for name, value in spec.algo.native.items():
        where = f"algo.native.{name}"
        facts = known.get(name) or known.get(name.replace("_", "-"))
        if facts is None:
            hint = _nearest_native(name, known)
            raise SpecError(f"{spec.worker.name}'s {spec.algo.name} has no such parameter", where=where, hint=hint)
        if "set_by" in facts:
            raise SpecError("is set by another key", where=where, hint=f"use {facts['set_by']}")
        _check_type(where, value, facts)


def _nearest_native(name: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """The nearest of the library's parameters; where a key of the spec sets it, that key."""
    names = {key.replace("-", "_"): facts.get("set_by") for key, facts in known.items()}
    hint = did_you_mean(name, names)
    return next((f"did you mean {owner!r}?" for key, owner in names.items() if owner and f"mean {key!r}" in hint), hint)


def _check_algorithm(spec: RunSpec, algorithm: Algorithm, worker: Capabilities) -> None:
    who = f"{spec.worker.name}'s {spec.algo.name}"
    if algorithm.unavailable and not spec.worker.python:
        hint = "an interpreter of yours that has it can run it: worker.python=PATH"
        raise SpecError(f"{who} cannot run: {algorithm.unavailable}", where="algo.name", hint=hint)
    if spec.worker.source not in algorithm.sources:
        hint = f"choose worker.source={' or '.join(algorithm.sources)}"
        raise SpecError(f"worker.source={spec.worker.source} has no {spec.algo.name}", where="algo.name", hint=hint)
    _check_agents(spec, algorithm, worker, who)
    if algorithm.env_families is not None:
        _one_of("env.family", spec.env.family, algorithm.env_families, who)
    if algorithm.modes is not None:
        _one_of("mode", spec.mode, algorithm.modes, who)
    if spec.curriculum.stages and not algorithm.curriculum:
        raise SpecError(f"{who} takes no curriculum", where="curriculum.stages", hint="choose curriculum=none")
    _check_dataset(spec, algorithm, who)
    _one_of("env.action_space", spec.env.action_space, algorithm.action_spaces, who)
    _one_of("env.observation_space", spec.env.observation_space, algorithm.observation_spaces, who)
    for parameter, value in spec.algo.hyperparameters().items():
        where, missing = f"algo.{parameter}", f"{who} has no hyperparameter {parameter!r}"
        if parameter not in algorithm.hyperparameters:
            raise SpecError(missing, where=where, hint=did_you_mean(parameter, algorithm.hyperparameters))
        library_name = algorithm.hyperparameters[parameter]
        if library_name.startswith("=") and value != json.loads(only := library_name[1:]):
            raise SpecError(f"{missing}, and does what {only} would do", where=where, hint=f"set {where}={only}")


def _check_agents(spec: RunSpec, algorithm: Algorithm, worker: Capabilities, who: str) -> None:
    agents, most = spec.env.agents or 1, algorithm.max_agents or worker.max_agents
    if agents < algorithm.min_agents:
        hint = "choose an environment with more, such as env=mpe_simple_spread"
        raise SpecError(f"{who} trains several agents, and {spec.env.id} has {agents}", where="algo.name", hint=hint)
    if agents > most:
        raise SpecError(f"{who} trains {most} at most, and {spec.env.id} has {agents}", where="env.agents")


def _check_dataset(spec: RunSpec, algorithm: Algorithm, who: str) -> None:
    learns = spec.mode in ("train", "resume_training")
    if learns and algorithm.dataset and spec.dataset.sha256 is None:
        raise SpecError(f"{who} learns from recorded steps", where="dataset", hint="set dataset.run or dataset.path")
    if spec.dataset.sha256 is not None and not algorithm.dataset:
        raise SpecError(f"{who} learns from no recorded steps", where="dataset", hint="choose another algorithm")
    if spec.mode != "collect":
        return
    if spec.env.agents:
        raise SpecError(f"mode=collect records one agent, and {spec.env.id} has {spec.env.agents}", where="mode")
    if spec.curriculum.stages:
        hint = "set curriculum=none and the env to record"
        raise SpecError("mode=collect records one environment", where="curriculum.stages", hint=hint)
    if spec.eval.video:
        raise SpecError("mode=collect makes no videos", where="eval.video", hint="set eval.video=false")


def _check_script(spec: RunSpec, worker: Capabilities) -> None:
    if spec.worker.script is not None and not worker.takes_script:
        raise SpecError(f"{spec.worker.name} runs no scripts", where="worker.script", hint="choose worker=script")
    if spec.worker.script is None and worker.takes_script:
        hint = "name it on the command line: worker.script=./train.sh"
        raise SpecError(f"{spec.worker.name} needs a script to run", where="worker.script", hint=hint)


def _one_of(key: str, value: str, valid: Iterable[str], who: str) -> None:
    if value not in (valid := tuple(valid)):
        raise SpecError(f"{who} does not do {value!r}", where=key, hint=f"it does: {', '.join(valid)}")


def _check_type(where: str, value: Any, facts: Mapping[str, Any]) -> None:
    wanted = str(facts.get("type"))
    types = _JSON_TYPES.get(wanted)
    if value is None or types is None:
        return
    if not isinstance(value, types) or (isinstance(value, bool) and wanted != "bool"):
        raise SpecError(f"expected {wanted}, got {value!r}", where=where)
