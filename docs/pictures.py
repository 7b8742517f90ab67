"""Make the pictures of the README from the demo tournament: ``python docs/pictures.py``. Needs Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).with_name("images")
SIZE = {"width": 1180, "height": 900}


def main() -> None:
    """Play the demo in a temporary directory; write a picture of its report and one of its bubble history."""
    IMAGES.mkdir(exist_ok=True)
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory(prefix="enginetour-pictures-") as made:
        enginetour = [sys.executable, "-m", "enginetour"]
        subprocess.run([*enginetour, "demo"], cwd=made, check=True)
        chart = ["chart", "bubble", "--db", "results/demo.db", "-o", str(IMAGES / "bubble.png")]
        subprocess.run([*enginetour, *chart], cwd=made, check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE)
            page.goto((Path(made) / "results" / "quickstart-report" / "index.html").as_uri())
            page.screenshot(path=IMAGES / "report.png")
            browser.close()


if __name__ == "__main__":
    main()
