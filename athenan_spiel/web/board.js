// Keys and dragging on a board. On a board that has the focus by Tab, arrow keys move it to the next site in that direction that can be pressed.
// Each change redraws the board, so the focus then moves to the nearest site that can be pressed. Elsewhere a key presses
// the button with this `data-key`, unless a field uses the key itself.
document.documentElement.lang = 'en';
(() => {
    const WAYS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    let last = null;

    const siteOf = (node) => (node instanceof Element ? node.closest('.board .site') : null);
    const centre = (site) => {
        const box = site.querySelector('.hit').getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
    };

    // Nearest site in a direction; sideways distance counts double.
    const next = (site, [dx, dy]) => {
        const [x, y] = centre(site);
        let found = null, least = Infinity;
        for (const other of site.ownerSVGElement.querySelectorAll('.site.can')) {
            const [ox, oy] = centre(other);
            const ahead = (ox - x) * dx + (oy - y) * dy;
            const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
            if (other !== site && ahead > 1 && ahead >= aside / 2 && ahead + 2 * aside < least) {
                least = ahead + 2 * aside;
                found = other;
            }
        }
        return found;
    };

    document.addEventListener('focusin', (event) => {
        const site = siteOf(event.target);
        last = site !== null && site.matches(':focus-visible') ? centre(site) : null;
    });
    document.addEventListener('keydown', (event) => {
        const site = last === null ? null : siteOf(event.target);
        if (site !== null && event.key in WAYS) {
            event.preventDefault();
            const found = next(site, WAYS[event.key]);
            if (found !== null) found.focus();
            return;
        }
        if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
        const usesKeys = 'input, textarea, [contenteditable], [role=combobox], [role=listbox], [role=slider], .q-menu';
        if (event.target instanceof Element && event.target.closest(usesKeys) !== null) return;
        const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
        if (button === null || button.disabled) return;
        event.preventDefault();
        button.click();
    });
    // A button with `data-copy` copies the text of the field beside it; without a clipboard, the text is only selected.
    document.addEventListener('click', (event) => {
        const button = event.target instanceof Element ? event.target.closest('[data-copy]') : null;
        if (button === null) return;
        const field = button.parentElement.querySelector('input, textarea');
        field.select();
        if (navigator.clipboard) navigator.clipboard.writeText(field.value);
        else document.execCommand('copy');
    });
    // Dragging a piece presses its site at the start, which marks the destinations, and the site where it is dropped.
    // Both are sent as events, since a fast hand drops a piece before the destinations are marked.
    const START_PIXELS = 6;
    let drag = null;
    const press = (board, site) =>
        board.dispatchEvent(new CustomEvent('sitepress', {detail: Number(site.dataset.site)}));
    const endDrag = () => {
        drag?.ghost?.remove();
        drag?.piece?.style.removeProperty('opacity');
        drag = null;
    };

    // Copy of a piece that follows the pointer.
    const ghostOf = (site, piece) => {
        const width = site.ownerSVGElement.getScreenCTM().a;
        const ghost = site.ownerSVGElement.cloneNode(false);
        ghost.setAttribute('viewBox', '-0.5 -0.5 1 1');
        ghost.setAttribute('width', width);
        ghost.setAttribute('height', width);
        ghost.style.cssText = `position: fixed; pointer-events: none; z-index: 9999; width: ${width}px; height: ${width}px`;
        ghost.append(piece.cloneNode(true));
        document.body.append(ghost);
        return ghost;
    };

    document.addEventListener('pointerdown', (event) => {
        const site = siteOf(event.target);
        if (drag !== null || event.button !== 0 || site === null || !site.matches('.can.drag')) return;
        if (event.target.hasPointerCapture(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
        drag = {site, board: site.closest('.board'), x: event.clientX, y: event.clientY, ghost: null};
    });
    document.addEventListener('pointermove', (event) => {
        if (drag === null) return;
        if (drag.ghost === null) {
            const piece = drag.site.querySelector('.piece');
            if (piece === null || Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < START_PIXELS) return;
            press(drag.board, drag.site);
            drag.piece = piece;
            drag.ghost = ghostOf(drag.site, piece);
            piece.style.opacity = 0.35;
        }
        const half = drag.ghost.width.baseVal.value / 2;
        drag.ghost.style.left = `${event.clientX - half}px`;
        drag.ghost.style.top = `${event.clientY - half}px`;
    });
    document.addEventListener('pointerup', (event) => {
        if (drag === null) return;
        const target = siteOf(document.elementFromPoint(event.clientX, event.clientY));
        if (drag.ghost !== null && target !== null && target !== drag.site) press(drag.board, target);
        endDrag();
    });
    document.addEventListener('pointercancel', endDrag);
    // Keeps the current move visible in the list of moves.
    let shown = null;
    new MutationObserver(() => {
        const move = document.querySelector('.moves .now');
        if (move === null || move.dataset.node === shown) return;
        shown = move.dataset.node;
        const list = move.closest('.moves');
        const top = move.offsetTop - list.scrollTop;
        if (top < 0 || top + move.offsetHeight > list.clientHeight) {
            list.scrollTop = move.offsetTop - list.clientHeight / 2;
        }
    }).observe(document.documentElement, {attributeFilter: ['class', 'data-node'], childList: true, subtree: true});
    new MutationObserver(() => {
        if (last === null || document.activeElement !== document.body) return;
        const far = (site) => Math.hypot(...centre(site).map((x, i) => x - last[i]));
        const sites = [...document.querySelectorAll('.board .site.can')].sort((a, b) => far(a) - far(b));
        if (sites.length > 0) sites[0].focus();
    }).observe(document.documentElement, {childList: true, subtree: true});
})();
