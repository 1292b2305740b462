"""Which pages are shown by a browser, and what they may ask for meanwhile."""

from collections.abc import Callable

from holdfast.crawl.document import Kind
from holdfast.crawl.hollow import is_hollow, may_change
from holdfast.crawl.setbacks import Setbacks
from holdfast.domain.item import Item, RetryAt
from holdfast.pipelines.site.discovery import PAGE
from holdfast.pipelines.site.errands import Errands
from holdfast.pipelines.site.leads import Answer, Leads
from holdfast.pipelines.site.renderrules import Render, RenderRules
from holdfast.ports.renderer import Rendered, Renderer, RenderFailed, Served


class RenderingRoom:
    """Has the pages of a claim shown."""

    def __init__(
        self,
        rules: RenderRules,
        renderer: Renderer,
        errands: Errands,
        setbacks: Setbacks,
        hold: Callable[[int, float], None],
    ) -> None:
        self._rules = rules
        self._renderer = renderer
        self._errands = errands
        self._setbacks = setbacks
        self._hold = hold

    def wants(self, item: Item, answer: Answer, leads: Leads) -> bool:
        """Whether that page is to be shown."""
        if item.kind != PAGE or leads.consulted or leads.document.kind is not Kind.HTML:
            return False
        if self._rules.mode is Render.ALWAYS:
            return may_change(answer.body)
        return is_hollow(answer.body, leads.document)

    async def show(self, item: Item, answer: Answer) -> Rendered:
        """The page as its scripts leave it, or RenderFailed; then its host is left alone for what it was asked for."""
        errand = self._errands.begin(item.url)
        try:
            return await self._renderer.render(Served(item.url, tuple(answer.headers), answer.body), errand)
        finally:
            until = errand.end()
            if until is not None:
                self._hold(item.host_id, until)

    def later(self, item: Item, failed: RenderFailed) -> RetryAt | None:
        """When it is tried again; None where it won't work."""
        return self._setbacks.unrendered(item, failed)

    @property
    def strict(self) -> bool:
        """A page that can't be shown has failed, instead of being taken as it was served."""
        return self._rules.mode is Render.ALWAYS
