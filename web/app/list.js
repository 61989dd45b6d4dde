// The session list, kept by the gateway.

import { age, arrange, count, el, setText } from './dom.js';

export class SessionList {
  #rows = new Map();
  #elements = new Map();
  #more = false;

  constructor(connection, { list, note, search }) {
    Object.assign(this, { connection, list, note, selected: '' });
    let timer = 0;
    search.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#ask(search.value), 150);
    });
    this.#ask('');
    setInterval(() => this.#render(), 10_000);
  }

  #ask(q) {
    this.connection.watchList({ q }, (m) => this.#told(m));
  }

  #told(m) {
    if (m.sessions) {
      this.#rows = new Map(m.sessions.map((s) => [s.session_id, s]));
      this.#more = m.has_more;
    }
    for (const s of m.upsert ?? []) this.#rows.set(s.session_id, s);
    for (const id of m.remove ?? []) this.#rows.delete(id);
    this.#render();
  }

  select(id) {
    this.selected = id;
    this.#render();
  }

  row(id) { return this.#rows.get(id); }

  #render() {
    const rows = [...this.#rows.values()].sort((a, b) => (b.last_activity ?? '').localeCompare(a.last_activity ?? ''));
    for (const id of this.#elements.keys()) if (!this.#rows.has(id)) this.#elements.delete(id);
    arrange(this.list, rows.map((r) => this.#row(r)));
    setText(this.note, rows.length === 0 ? 'No sessions yet.' : this.#more ? 'Only the newest sessions are listed; search for others.' : '');
  }

  #row(r) {
    let item = this.#elements.get(r.session_id);
    if (!item) {
      const link = el('a', { href: `#/s/${encodeURIComponent(r.session_id)}` },
        el('span', { class: 'title' }), el('span', { class: 'badge' }), el('span', { class: 'facts' }));
      item = el('li', {}, link);
      this.#elements.set(r.session_id, item);
    }
    const link = item.firstChild;
    const [title, badge, facts] = link.children;
    setText(title, r.title || r.session_id);
    setText(badge, r.state ?? '');
    badge.className = `badge ${['waiting', 'running', 'stale', 'failed', 'done'].includes(r.state) ? r.state : ''}`;
    setText(facts, [r.session_id, plural(r.turns, 'turn'), plural(r.agents, 'agent'), `${count(r.events)} events`, age(r.last_activity)]
      .filter(Boolean).join(' · '));
    if (r.session_id === this.selected) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
    return item;
  }
}

function plural(n, word) {
  return n === undefined ? '' : `${n} ${word}${n === 1 ? '' : 's'}`;
}
