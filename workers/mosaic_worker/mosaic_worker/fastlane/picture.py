"""From what environments draw to what a lane takes."""

import importlib
from typing import Any, Tuple

from mosaic_worker.errors import UserError


def shrunk(picture: Any, max_dim: int) -> Tuple[Any, int, int, int]:
    """``picture`` as C-contiguous bytes, its height, width and channels (1 or 3), neither side above ``max_dim``.

    It is made smaller by leaving rows and columns out. Gray pictures may have two dimensions; numbers that are no
    bytes are taken for shares of 1 where none is above 1, else for what they are.

    Raises:
        UserError: it is no picture.
    """
    np = importlib.import_module("numpy")  # whoever draws has it
    if isinstance(picture, (list, tuple)) and picture:
        picture = picture[-1]
    if picture is None or isinstance(picture, (str, list, tuple)):
        raise UserError("its render() gives no picture")
    array = np.asarray(picture)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.size == 0 or array.dtype.kind not in "buif":
        raise UserError(f"its render() gives no picture: {array.dtype} of shape {array.shape}")
    if array.shape[2] not in (1, 3, 4) and array.shape[0] in (1, 3, 4):
        array = np.moveaxis(array, 0, 2)
    stride = -(-max(array.shape[:2]) // max_dim)
    array = array[::stride, ::stride, : 3 if array.shape[2] >= 3 else 1]
    if array.dtype != np.uint8:
        array = _as_bytes(np, array)
    array = np.ascontiguousarray(array)
    return (array, *array.shape)


def _as_bytes(np: Any, array: Any) -> Any:
    scale = 255 if array.dtype.kind in "bf" and array.max() <= 1 else 1
    return np.clip(np.nan_to_num(array) * scale, 0, 255).astype(np.uint8)
