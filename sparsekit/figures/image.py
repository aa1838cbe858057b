"""Shades as an image that a picture holds."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

__all__ = ["grey_png"]


def grey_png(shades: np.ndarray) -> str:
    """Shades (down x across, 0 to 1) as the address of a grey image in Portable Network Graphics, 256 levels."""
    levels = np.rint(255 * np.clip(np.nan_to_num(shades), 0, 1)).astype(np.uint8)
    down, across = levels.shape
    lines = np.concatenate([np.zeros((down, 1), np.uint8), levels], axis=1)  # each line begins with its filter: none
    head = struct.pack(">IIBBBBB", across, down, 8, 0, 0, 0, 0)
    body = _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
