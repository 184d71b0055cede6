"""Pages opened in headless Chromium: no request leaves them, anchors work, contrast suffices.

They need Debian's `chromium` and `chromium-driver`; without these they are skipped.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelcast.cli.main import main

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs Debian's packages chromium and chromium-driver"
)
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
GROUND_TRUTH = ROOT / "measurements/data/h100-sxm/ground-truth.json.gz"
COMMANDS = {
    "predict": f"predict {EXAMPLES}/transpose.cu",
    "explain": f"explain {EXAMPLES}/reduction.cu --launch 1 --model teg --gpu rtx-2080-ti",
    "compare": f"compare {EXAMPLES}/saxpy.cu --gpu h100-sxm,rtx-4090",
    "what-if": f"what-if {EXAMPLES}/transpose.cu --remove dram-bandwidth,tail",
    "curve": f"occupancy-curve {EXAMPLES}/matmul_tiled.cu",
    "validate": "validate latency-hiding --gpu gtx-280 --alpha 0,8,inf",
    "measured": f"validate ground-truth {GROUND_TRUTH} --gpu h100-sxm --only reduce_tree",
    "run": f"run {EXAMPLES}/programs/histogram.cu",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, str]:
    """The pages of some commands, as addresses."""
    folder = tmp_path_factory.mktemp("pages")
    for name, command in COMMANDS.items():
        verb, *rest = command.split()
        # What follows the program of `run` is the program's.
        options = ["--quiet", "--html", str(folder / f"{name}.html")]
        assert main([verb, *options, *rest] if verb == "run" else [verb, *rest, *options]) == 0
    return {name: (folder / f"{name}.html").as_uri() for name in COMMANDS}


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER))
    yield driver
    driver.quit()


def requests_of(browser) -> set[str]:
    """Addresses that the page asked for since the log was last read."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_leaves_a_page_and_the_console_stays_empty(browser, pages, name):
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get(pages[name])
    asked = {url for url in requests_of(browser) if not url.startswith("data:")}
    assert asked == {pages[name]}
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", COMMANDS)
def test_an_accessibility_checker_finds_nothing(browser, pages, name, scheme):
    from axe_core_python.selenium import Axe

    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(pages[name])
    found = Axe().run(browser)["violations"]
    told = [(v["id"], v["nodes"][0]["html"][:200], len(v["nodes"])) for v in found]
    assert told == []


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("width", [360, 1600])
def test_a_page_is_as_wide_as_the_screen(browser, pages, name, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(pages[name])
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_line_marks_its_instructions_and_they_lead_back(browser, pages):
    from selenium.webdriver.common.by import By

    browser.get(pages["predict"])
    (arrow,) = browser.find_elements(By.CSS_SELECTOR, "tr#r1s0-28 a[aria-label]")
    browser.execute_script("arguments[0].click()", arrow)
    rows = browser.find_elements(By.CSS_SELECTOR, ".r1s0-28")
    other = browser.find_element(By.CSS_SELECTOR, ".r1s0-23")
    assert len(rows) > 3
    assert all(map(is_marked, rows))
    assert not is_marked(other)
    (back, *_) = browser.find_elements(By.CSS_SELECTOR, 'td a[href="#r1s0-23"]')
    browser.execute_script("arguments[0].click()", back)
    assert is_marked(other)
    assert not any(map(is_marked, rows))


def is_marked(row) -> bool:
    return row.value_of_css_property("box-shadow") != "none"
