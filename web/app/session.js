// One session: its agents and the timeline of the one shown.

import { age, arrange, count, el, setText } from './dom.js';
import { TimelineView } from './timeline.js';

export class SessionView {
  #watched; #roster = new Map(); #timelines = new Map(); #agent = ''; #frame = 0; #touched = new Map();

  constructor(connection, root, session, row) {
    Object.assign(this, { connection, root, session, row });
    this.title = el('h1');
    this.facts = el('p', { class: 'facts' });
    this.agents = el('nav', { class: 'agents', 'aria-label': 'Agents' });
    this.meta = el('div', { class: 'meta' });
    this.body = el('div', { class: 'timeline', role: 'log', 'aria-label': 'Transcript' });
    root.replaceChildren(el('header', { class: 'head' }, this.title, this.facts, this.agents, this.meta), this.body);
    this.#watched = connection.watch(session, { '*': 'delta' }, {
      roster: (list) => this.#know(list),
      changed: (agent, touched) => this.#change(agent, touched),
    });
    this.clock = setInterval(() => this.#head(), 5000);
  }

  close() {
    clearInterval(this.clock);
    cancelAnimationFrame(this.#frame);
    this.connection.leave(this.session);
  }

  /** Shows an agent's timeline. */
  show(agent) {
    this.#agent = agent;
    this.#draw();
    this.#head();
  }

  #know(list) {
    for (const d of list ?? []) this.#roster.set(d.agentId, d);
    this.#head();
  }

  /** Collects changes until the next frame, so that a burst is drawn once. */
  #change(agent, touched) {
    const all = this.#touched.get(agent) ?? new Set();
    for (const t of touched) all.add(t);
    this.#touched.set(agent, all);
    if (!this.#frame) this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#draw(); });
  }

  #draw() {
    const agent = this.#agent;
    const touched = this.#touched.get(agent);
    this.#touched.delete(agent);
    let view = this.#timelines.get(agent);
    if (!view) {
      view = new TimelineView(this.#watched.transcript(agent), this.session, () => this.#watched.marks[agent] ?? 0);
      this.#timelines.set(agent, view);
      view.update(new Set(['reset']));
    } else if (touched) {
      const follow = this.#atEnd();
      view.update(touched);
      if (follow) this.root.scrollTop = this.root.scrollHeight;
    }
    if (this.body.firstChild !== view.element) {
      this.body.replaceChildren(view.element);
      this.root.scrollTop = this.root.scrollHeight;
    }
    this.#head();
  }

  #atEnd() {
    return this.root.scrollHeight - this.root.scrollTop - this.root.clientHeight < 80;
  }

  #head() {
    const row = this.row();
    setText(this.title, row?.title || this.session);
    const t = row?.tokens ?? {};
    setText(this.facts, [
      this.session, row?.state, row?.labels?.host,
      t.input || t.output ? `${count(t.input ?? 0)} in · ${count(t.cached ?? 0)} cached · ${count(t.output ?? 0)} out` : '',
      row?.cost ? `$${row.cost.toFixed(2)}` : '',
      row?.last_activity ? `active ${age(row.last_activity)} ago` : '',
    ].filter(Boolean).join(' · '));
    arrange(this.agents, this.#agentLinks());
    this.#drawMeta();
  }

  #links = new Map();

  #agentLinks() {
    const all = [...this.#roster.values()];
    if (!this.#roster.has(this.#agent)) all.unshift({ agentId: this.#agent });
    return all.map((d) => {
      let a = this.#links.get(d.agentId);
      if (!a) {
        a = el('a', { href: `#/s/${encodeURIComponent(this.session)}/a/${encodeURIComponent(d.agentId)}` });
        this.#links.set(d.agentId, a);
      }
      const running = this.#watched.transcript(d.agentId).items.some((i) => i.kind === 'turn' && i.state === 'running');
      setText(a, `${d.label || d.agentId}${running ? ' ●' : ''}`);
      a.title = [d.agentId, d.type, d.parentAgentId && `of ${d.parentAgentId}`, d.disposedAt && 'ended'].filter(Boolean).join(' · ');
      if (d.agentId === this.#agent) a.setAttribute('aria-current', 'page');
      else a.removeAttribute('aria-current');
      return a;
    });
  }

  #drawn = '';

  /** Makes the lines anew only when they say something else. */
  #drawMeta() {
    const t = this.#watched.transcript(this.#agent);
    const says = JSON.stringify([this.#agent, t.meta, t.pending, [...t.todos.values()]]);
    if (says === this.#drawn) return;
    this.#drawn = says;
    arrange(this.meta, this.#metaLines());
  }

  #metaLines() {
    const t = this.#watched.transcript(this.#agent);
    const lines = [];
    const m = t.meta;
    const facts = [m.agent?.model, m.agent?.permission, m.agent?.phase?.kind && `phase ${m.agent.phase.kind}`, m.modes?.plan && 'plan mode'].filter(Boolean);
    if (facts.length > 0) lines.push(el('p', { class: 'facts' }, facts.join(' · ')));
    if (m.goal) lines.push(el('p', { class: 'goal' }, `Goal (${m.goal.status}): ${m.goal.objective}`));
    for (const i of t.pending) {
      lines.push(el('p', { class: 'pending' }, `Waiting for a person: ${i.interactionKind} ${i.interactionId}`));
    }
    for (const todo of t.todos.values()) if (todo.items.length > 0) lines.push(this.#todo(todo));
    return lines;
  }

  #todoOpen = false;

  #todo({ items }) {
    const mark = { pending: '☐', in_progress: '◐', done: '☑' };
    const now = items.find((i) => i.status === 'in_progress');
    const summary = `Todo ${items.filter((i) => i.status === 'done').length}/${items.length}${now ? `: ${now.title}` : ''}`;
    const list = items.map((i) => el('li', { class: i.status === 'done' ? 'done' : '' }, `${mark[i.status] ?? '☐'} ${i.title}`));
    const box = el('details', { ontoggle: () => { this.#todoOpen = box.open; } }, el('summary', {}, summary), el('ul', { class: 'todo' }, ...list));
    box.open = this.#todoOpen;
    return box;
  }
}
