"""Style sheet of the pages, for wide and narrow windows, light and dark."""

SHEET = """
:root { --ink: #24211d; --paper: #faf8f4; --soft: #e7e1d6; --mark: #2863a6; --good: #2c6e30;
  --fill: #2863a6; --doubt: #6b5d00; --mistake: #8a4500; --blunder: #b3261e; }
body.body--dark { --ink: #e9e5de; --paper: #1c1b19; --soft: #35322d; --mark: #79b0ec; --good: #7fca7f;
  --doubt: #d8c74a; --mistake: #f0a050; --blunder: #ff8a80; }
body { background: var(--paper); color: var(--ink); --q-primary: var(--mark); }
.nicegui-content { padding: 0.75rem; max-width: 80rem; margin: 0 auto; width: 100%; }
.top { width: 100%; align-items: center; gap: 0.75rem; }
.top h1 { font-size: 1.15rem; line-height: 1.4; font-weight: 600; margin: 0; flex: 1; }
.top a { color: var(--mark); }
.match { display: grid; grid-template-columns: minmax(0, 3fr) minmax(20rem, 2fr); gap: 1.25rem; width: 100%; }
@media (max-width: 52rem) { .match { grid-template-columns: minmax(0, 1fr); } }
.board svg { width: 100%; height: auto; max-height: max(14rem, calc(100dvh - 17rem)); }
@media (max-height: 36rem) { .board svg { max-height: max(12rem, calc(100dvh - 9.75rem)); } }
.board pre { font-size: 1rem; line-height: 1.25; overflow-x: auto; background: var(--soft); padding: 0.75rem; }
.status { font-weight: 600; min-height: 1.6rem; }
.value-bar .bar { position: relative; height: 1.4rem; background: var(--soft); border-radius: 0.3rem; margin: 0.3rem 0;
  overflow: hidden; }
.value-bar i { position: absolute; inset: 0 auto 0 0; background: var(--mark); opacity: 0.25; }
.value-bar .proven i { opacity: 0.4; }
.value-bar span { position: relative; padding-left: 0.5rem; line-height: 1.4rem; font-size: 0.85rem; }
.wait { position: relative; height: 1.2rem; overflow: hidden; border-radius: 0.3rem; background: var(--soft);
  margin: 0.3rem 0; font-size: 0.8rem; line-height: 1.2rem; }
.wait i { position: absolute; inset: 0 auto 0 0; background: var(--good); opacity: 0.35;
  transition: width 0.15s linear; }
.wait.unknown i { width: 25%; animation: athenan-wait 1.6s ease-in-out infinite alternate; }
@keyframes athenan-wait { from { left: 0; } to { left: 75%; } }
@media (prefers-reduced-motion: reduce) { .wait i { animation: none; transition: none; } }
.wait span { position: relative; padding-left: 0.5rem; }
.progress { min-height: 1.8rem; width: 100%; } .order { width: 9rem; margin-bottom: 0.4rem; }
.value-bar, .board, .actions, .values, .tree, .saved { width: 100%; }
.controls { gap: 0.15rem; } .settings { gap: 0.5rem; align-items: center; width: 100%; }
.settings .q-select { min-width: 8.5rem; flex: 1; } .seconds { width: 8rem; } .switches { gap: 0.35rem; }
.moves { font-size: 0.85rem; line-height: 1.7; max-height: 12rem; overflow-y: auto; width: 100%; margin-top: 0.35rem;
  position: relative; }
.moves .variation { margin-left: calc(var(--depth) * 0.8rem); padding-left: 0.4rem; border-left: 2px solid var(--soft);
  font-size: 0.95em; }
.moves button { font: inherit; color: var(--mark); cursor: pointer; padding: 0 0.25rem; border-radius: 0.25rem; }
.moves .now { background: var(--soft); font-weight: 600; }
:is(.moves, .review) button.inaccuracy { color: var(--doubt); }
:is(.moves, .review) button.mistake { color: var(--mistake); }
:is(.moves, .review) button.blunder { color: var(--blunder); font-weight: 600; }
.review-row { gap: 0.5rem; align-items: center; margin-top: 0.5rem; }
.review { font-size: 0.85rem; width: 100%; overflow-x: auto; }
.review table { border-collapse: collapse; margin: 0.4rem 0; }
.review :is(td, th) { text-align: left; padding: 0 0.25rem; }
.review ul { margin: 0; padding: 0 0.5rem; } .review button { font: inherit; cursor: pointer; }
.moves .note { opacity: 0.85; } .comment { width: 100%; margin-bottom: 0.5rem; }
.moves .roll { color: var(--ink); font-style: italic; }
.position-dialog { width: 36rem; max-width: 92vw; } .wide { width: 100%; }
.copy-row { width: 100%; flex-wrap: nowrap; align-items: center; gap: 0.25rem; } .copy-row .copied { flex: 1; }
.advice { font-size: 0.9rem; min-height: 1.4rem; }
.named { gap: 0.35rem; margin-top: 0.35rem; }
.report :is(h1, h2, h3) { font-weight: 600; line-height: 1.4; margin: 1rem 0 0.4rem; }
.report { max-width: 100%; overflow-x: auto; } .report p, .report :is(ul, ol) { margin: 0.5rem 0; }
.report h1 { font-size: 1.3rem; } .report :is(h2, h3) { font-size: 1.1rem; } .report a { color: var(--mark); }
.report :is(ul, ol) { padding-left: 1.5rem; list-style: revert; } .report pre { white-space: pre-wrap; }
.report table { border-collapse: collapse; }
.report :is(td, th) { border: 1px solid var(--soft); padding: 0.1rem 0.5rem; }
.typed { max-width: 16rem; }
.summary { font-size: 0.9rem; overflow-wrap: anywhere; } .reason { font-size: 0.9rem; font-style: italic; }
.actions table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
.actions td, .actions th { text-align: left; padding: 0.1rem 0.4rem; }
.actions caption { caption-side: bottom; text-align: left; font-size: 0.8rem; opacity: 0.8; }
.actions button { font: inherit; color: var(--mark); text-decoration: underline dotted; cursor: pointer; }
.actions .proven { font-weight: 700; color: var(--good); }
.actions .visits { width: 40%; }
.actions .visits i { display: block; height: 0.6rem; background: var(--mark); opacity: 0.5; }
.values { height: 10rem; } .curves .nicegui-echart { height: 18rem; }
.run-table { width: 100%; background: none; color: var(--ink); font-variant-numeric: tabular-nums; }
.run-table td:is(.text-left) { white-space: normal; overflow-wrap: anywhere; max-width: 22rem; }
.run-table td:nth-child(2) { min-width: 12rem; } .run-table .q-table__top { padding: 0.25rem 0; gap: 0.5rem; }
.run-table .q-table__bottom { color: var(--ink); }
.run-table .filter { width: 18rem; max-width: 100%; } .run-table .state { width: 8rem; }
.run-table td a { color: var(--mark); }
.actions-of-run, .narrow { display: flex; flex-wrap: wrap; gap: 0 0.6rem; font-size: 0.8rem; }
.run-table .narrow { display: none; }
.state-of-run { border-left: 0.25rem solid var(--soft); padding-left: 0.4rem; }
.state-of-run, .run-table .figure { white-space: nowrap; overflow-wrap: normal; }
.state-of-run.live { border-color: var(--good); font-weight: 600; } .state-of-run.stopped { border-color: #c94f5e; }
.state-of-run.finished { border-color: var(--mark); }
.run-table small { opacity: 0.8; }
.spark { display: block; width: 82px; height: 22px; margin-left: auto; }
.spark polyline { fill: none; stroke: var(--mark); stroke-width: 1.3; }
@media (max-width: 60rem) { .run-table :is(td, th) { padding-inline: 0.35rem !important; }
  .run-table td:nth-child(2) { min-width: 6rem; } }
@media (max-width: 44rem) { .run-table .wide { display: none; } .run-table .narrow { display: flex; } }
.curve-options, .self-play-options { align-items: center; gap: 0.75rem; width: 100%; }
.curve-options .q-slider { width: 12rem; } .self-play-options .q-select { width: 9rem; }
.links { display: flex; flex-wrap: wrap; gap: 1rem; } .links a, .checkpoint-list a { color: var(--mark); }
.settings-of-runs, .checkpoints { width: 100%; } .settings-table { max-width: 100%; overflow-x: auto; }
.settings-table :is(td, th), .checkpoint-list td { text-align: left; padding: 0.1rem 0.8rem 0.1rem 0;
  font-weight: 400; font-size: 0.9rem; vertical-align: top; }
.settings-table thead th { font-weight: 600; } .settings-table .differs > * { font-weight: 600; color: var(--mark); }
.nicegui-link { color: var(--mark); } .about { width: 100%; } .about p { margin: 0; }
.small { font-size: 0.85rem; opacity: 0.85; }
.picture { max-width: 50rem; } .self-play { max-width: 30rem; width: 100%; }
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; width: 100%; }
.import { max-width: 12rem; } .list { gap: 0; }
.q-field__label, .q-field__native, .q-toggle__label, .q-expansion-item { color: var(--ink); }
:focus-visible { outline: 2px solid var(--mark); outline-offset: 2px; }
@layer theme { /* important rules of the first layer win over those of Quasar's */
  .no-outline:focus-visible { outline: 2px solid var(--mark) !important; }
  .q-uploader__header { background: var(--fill) !important; }
  .text-primary { color: var(--mark) !important; } .bg-primary { background: var(--fill) !important; } }
"""
"""CSS of all pages."""
