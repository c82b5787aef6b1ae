// Updates HTML in place: unchanged nodes stay, so clicks, focus and unfolded parts survive an update. Children with
// `data-path` are matched by it, others by position.
const keyOf = (node) =>
    node instanceof Element
        ? node.getAttribute('data-path') ?? node.firstElementChild?.getAttribute('data-path') ?? null
        : null;

const isAlike = (old, fresh) =>
    old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);

const keepAttributes = (old, fresh) => {
    for (const {name} of [...old.attributes]) {
        if (!fresh.hasAttribute(name) && !(name === 'open' && old.nodeName === 'DETAILS')) old.removeAttribute(name);
    }
    for (const {name, value} of fresh.attributes) {
        if (old.getAttribute(name) === value || (name === 'open' && old.nodeName === 'DETAILS')) continue;
        old.setAttribute(name, value);
    }
};

// Replaces the children of `old` by those of `fresh`.
const become = (old, fresh) => {
    const keyed = new Map([...old.childNodes].map((node) => [keyOf(node), node]));
    let place = old.firstChild;
    for (const child of [...fresh.childNodes]) {
        const key = keyOf(child);
        let mine = key === null ? place : keyed.get(key) ?? null;
        if (mine !== null && !isAlike(mine, child)) mine = null;
        if (mine === null) {
            old.insertBefore(child, place);
            continue;
        }
        if (mine !== place) old.insertBefore(mine, place);
        place = mine.nextSibling;
        if (child.nodeType !== Node.ELEMENT_NODE) {
            if (mine.nodeValue !== child.nodeValue) mine.nodeValue = child.nodeValue;
            continue;
        }
        keepAttributes(mine, child);
        become(mine, child);
    }
    while (place !== null) {
        const next = place.nextSibling;
        place.remove();
        place = next;
    }
};

export default {
    template: '<div></div>',
    props: {content: String},
    mounted() {
        this.$el.innerHTML = this.content;
    },
    watch: {
        content(text) {
            const fresh = document.createElement('div');
            fresh.innerHTML = text;
            become(this.$el, fresh);
        },
    },
};
