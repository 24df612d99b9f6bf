"""A real browser, Chromium without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from playwright.sync_api import Browser, Page, expect, sync_playwright

SECONDS = 120_000
"""Milliseconds that something may take on a loaded machine."""
expect.set_options(timeout=SECONDS)

FOREIGN = "rebound.example"
"""A name that somebody has pointed at this machine."""


def chromium() -> str | None:
    """Path of a Chromium; None: playwright's own. Installed where there is none.

    Raises:
        AssertionError: it could not be.
    """
    with FileLock("/tmp/mosaic-chromium.lock"):
        if _is_bundled():
            return None
        if found := shutil.which("chromium") or shutil.which("google-chrome"):
            return found
        install = [sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"]
        if subprocess.run(install, capture_output=True, check=False).returncode == 0:
            return None
        if os.geteuid() == 0 and shutil.which("apt-get"):
            subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=True)
            subprocess.run(
                ["apt-get", "install", "-qy", "--no-install-recommends", "chromium"], capture_output=True, check=True
            )
    found = shutil.which("chromium")
    assert found, "no Chromium: `playwright install chromium`, or leave these tests out: -m 'not browser'"
    return found


def _is_bundled() -> bool:
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


@contextmanager
def browsing() -> Iterator[Browser]:
    """Chromium for some tests."""
    path = chromium()
    with sync_playwright() as playwright:
        names = f"--host-resolver-rules=MAP {FOREIGN} 127.0.0.1"
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage", names]
        )
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page whose errors are remembered."""

    def __init__(self, page: Page) -> None:
        self.page, self.errors = page, list[str]()
        page.set_default_timeout(SECONDS)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}"))

    def open(self, url: str) -> Page:
        """Go there."""
        self.page.goto(url)
        return self.page

    def wait(self, condition: str, argument: object = None) -> None:
        """Until a JavaScript expression or function is true."""
        self.page.wait_for_function(condition, arg=argument, polling=100)
