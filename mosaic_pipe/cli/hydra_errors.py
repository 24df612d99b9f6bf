"""Hydra's and OmegaConf's errors in the form of ours: what, with the nearest valid name."""

from __future__ import annotations

import re

from hydra.errors import MissingConfigException

from mosaic_pipe.base.errors import SpecError
from mosaic_pipe.base.suggest import did_you_mean
from mosaic_pipe.cli.specs import Call
from mosaic_pipe.spec.compose import is_key, nearest_key


def as_spec_error(error: Exception) -> SpecError:
    """Our error for Hydra's or OmegaConf's ``error``."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return SpecError(f"there is no {group} {name!r}", where=group, hint=did_you_mean(name, error.options))
    text = _sentence(error)
    unknown = re.match(r"Could not override '([^']+)'", text)
    if unknown:
        return _unknown_key(unknown[1])
    return SpecError(text)


def _unknown_key(key: str) -> SpecError:
    plugin = re.match(r"hydra\.(sweeper|launcher)\.", key)
    if plugin:
        hint = f"another hydra/{plugin[1]} may; this one's: --cfg hydra --package hydra.{plugin[1]}"
        return SpecError(f"the chosen hydra/{plugin[1]} has no such key", where=key, hint=hint)
    if is_key(key):
        return SpecError("the chosen configs lack this key", where=key, hint=f"to set it all the same: +{key}=…")
    return SpecError("unknown key", where=key, hint=nearest_key(key, Call.__struct_fields__))


def _sentence(error: Exception) -> str:
    """The error's own text and its cause's, without Hydra's remarks to developers."""
    texts = [str(error).strip()]
    if error.__cause__ is not None and str(error.__cause__).strip() not in texts[0]:
        texts.append(str(error.__cause__).strip())
    lines = (line for text in texts for line in text.splitlines())
    kept = [
        line.strip() for line in lines if line.strip() and not line.strip().startswith(("full_key:", "object_type="))
    ]
    return "\n  ".join(kept)
