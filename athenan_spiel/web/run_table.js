// Table of runs, which is sorted, filtered and selected in the browser.
const column = (name, label, format, more = {}) => ({
    name, label, field: name, sortable: true, align: format ? 'right' : 'left', ...(format && {format}), ...more,
});

const number = (value) => (value === null || value === undefined ? '' : Math.round(value).toLocaleString('en'));

const two = (value) => String(value).padStart(2, '0');

const timeText = (seconds) => {
    if (seconds === null || seconds === undefined) return '';
    const minutes = Math.floor(seconds / 60);
    if (minutes >= 60) return `${number(Math.floor(minutes / 60))} h ${two(minutes % 60)} min`;
    return minutes ? `${minutes} min ${two(seconds % 60)} s` : `${seconds} s`;
};

const dateText = (seconds) => {
    if (!seconds) return '';
    const date = new Date(1000 * seconds);
    const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
    return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
};

const percent = (share) => Math.round(100 * share);

const wide = {classes: 'wide', headerClasses: 'wide'};

const COLUMNS = [
    column('title', 'Run', null),
    column('game', 'Game', null, wide),
    column('state', 'State', null, wide),
    column('date', 'Started', dateText, {...wide, sortOrder: 'da'}),
    column('seconds', 'Time', timeText, {...wide, sortOrder: 'da'}),
    column('games', 'Games', number, {...wide, sortOrder: 'da'}),
    column('steps', 'Steps', number, {...wide, sortOrder: 'da'}),
    column('loss', 'Loss', (loss) => (loss === null || loss === undefined ? '' : String(Number(loss.toPrecision(3)))), wide),
    column('points', 'Strength', (points) => (points === null || points === undefined ? '' : `${percent(points)} %`), {
        sortOrder: 'da',
    }),
];

export default {
    template: `
        <q-table flat dense row-key="key" selection="multiple" class="run-table" :rows="rows" :columns="columns"
            v-model:selected="selected" v-model:pagination="pagination" :filter="terms" :filter-method="filtered"
            :rows-per-page-options="[25, 50, 100, 0]" no-data-label="No runs" no-results-label="No run matches">
            <template v-slot:top>
                <q-input dense outlined clearable debounce="150" v-model="text" label="Filter by run, game or opponent"
                    class="filter"><template v-slot:prepend><q-icon name="search"></q-icon></template></q-input>
                <q-select dense outlined v-model="state" :options="states" label="State" class="state"></q-select>
                <q-space></q-space>
                <q-btn flat no-caps color="primary" class="compare" :label="label" :href="address" :disable="!address">
                </q-btn>
            </template>
            <template v-slot:header-selection></template>
            <template v-slot:body-selection="scope">
                <q-checkbox dense v-if="scope.row.address" v-model="scope.selected"
                    :aria-label="'Compare ' + scope.row.title"></q-checkbox>
            </template>
            <template v-slot:body-cell-title="props">
                <q-td :props="props">
                    <a v-if="props.row.address" :href="'/run/' + props.row.address">{{ props.row.title }}</a>
                    <span v-else>{{ props.row.title }} (name not UTF-8: rename the folder)</span>
                    <div class="narrow">{{ props.row.game }}
                        <span class="state-of-run" :class="props.row.state">{{ props.row.state }}</span></div>
                    <div class="actions-of-run">
                        <a v-if="props.row.analyse && props.row.address" :href="'/play/' + props.row.address"
                            :aria-label="'Play against ' + props.row.title">play</a>
                        <a v-if="props.row.analyse" :href="'/analyse?' + props.row.analyse"
                            :aria-label="'Analyse games of ' + props.row.title">analyse</a>
                        <a v-if="props.row.report" :href="'/report/' + props.row.report"
                            :aria-label="'Report of ' + props.row.title">report</a>
                    </div>
                </q-td>
            </template>
            <template v-slot:body-cell-state="props">
                <q-td :props="props"><span class="state-of-run" :class="props.value" :title="props.row.about">
                    {{ props.value }}</span></q-td>
            </template>
            <template v-slot:body-cell-loss="props">
                <q-td :props="props"><span class="figure">{{ props.value }}</span>
                    <svg v-if="props.row.loss_line" class="spark" viewBox="-1 -1 82 22" aria-hidden="true">
                        <polyline :points="props.row.loss_line"></polyline></svg></q-td>
            </template>
            <template v-slot:body-cell-points="props">
                <q-td :props="props"><span class="figure" :title="against(props.row)">{{ props.value }}
                    <small v-if="props.value">{{ interval(props.row) }}</small></span>
                    <svg v-if="props.row.strength_line" class="spark" viewBox="-1 -1 82 22" aria-hidden="true">
                        <polyline :points="props.row.strength_line"></polyline></svg></q-td>
            </template>
        </q-table>`,
    props: {content: String, most: Number},
    data: () => ({
        columns: COLUMNS,
        selected: [],
        text: '',
        state: 'all',
        pagination: {rowsPerPage: 50, sortBy: 'date', descending: true},
    }),
    computed: {
        rows() {
            return JSON.parse(this.content);
        },
        terms() {
            return {text: (this.text ?? '').toLowerCase(), state: this.state};
        },
        states() {
            return ['all', ...new Set(this.rows.map((row) => row.state).filter((state) => state))].sort();
        },
        chosen() {
            const known = new Set(this.rows.map((row) => row.key));
            return this.selected.filter((row) => known.has(row.key));
        },
        address() {
            const count = this.chosen.length;
            if (count < 2 || count > this.most) return undefined;
            return '/compare?' + this.chosen.map((row) => `run=${encodeURIComponent(row.address)}`).join('&');
        },
        label() {
            const count = this.chosen.length;
            if (count > this.most) return `Choose at most ${this.most} runs`;
            return this.address ? `Compare ${count} runs` : 'Choose runs to compare';
        },
    },
    methods: {
        filtered(rows, {text, state}) {
            const words = text.split(/\s+/);
            return rows.filter((row) => {
                const known = `${row.title} ${row.game} ${row.opponent ?? ''}`.toLowerCase();
                return (state === 'all' || row.state === state) && words.every((word) => known.includes(word));
            });
        },
        interval: (row) => `(${percent(row.low)}–${percent(row.high)})`,
        against: (row) => (row.opponent ? `points against ${row.opponent}, with their interval` : ''),
    },
};
