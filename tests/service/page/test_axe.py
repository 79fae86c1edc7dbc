"""The findings of axe, which checks pages against WCAG, on the page in each state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.service.page.browsing import use_example

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


def findings(page: Page) -> list[str]:
    """Return the faults: the rule, the severity, the place, and the reason."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python"
    ).Axe()
    violations = axe.run(page).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {node['target']}: {node['failureSummary']}"
        for each in violations
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_found(page: Page, scheme: str) -> None:
    # Without motion: colours that fade from one scheme to the other have other contrasts.
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    assert findings(page) == []
    use_example(page)
    assert findings(page) == []
    page.click("#candidate-3")
    assert findings(page) == []


def test_nothing_is_found_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    use_example(page)
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["docs", "help"])
def test_nothing_is_found_in_the_other_pages(
    page: Page, address: str, path: str, scheme: str
) -> None:
    # Without motion: colours that fade from one scheme to the other have other contrasts.
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    page.goto(f"{address}/{path}")
    page.wait_for_selector("h2")
    if path == "docs":
        page.locator("summary").first.click()
    assert findings(page) == []
