// One frame: text, folded thinking, a tool call, a notice. Everything a model,
// a tool or a person wrote is text and stays text.

import { wellFormed } from '../client/text.js';
import { el, setText, visible } from './dom.js';

/** How much of a long value is shown at first. */
const shownAtFirst = 20_000;

export class FrameView {
  constructor(frame) {
    this.body = el('pre', { class: 'text' });
    switch (frame.kind) {
      case 'thinking':
        this.summary = el('summary', {}, 'thinking');
        this.element = el('details', { class: 'frame thinking' }, this.summary, this.body);
        break;
      case 'tool':
        this.name = el('span', { class: 'name' });
        this.state = el('span', { class: 'badge' });
        this.hint = el('span', { class: 'facts' });
        this.fields = el('dl');
        this.element = el('details', { class: 'frame tool' }, el('summary', {}, this.name, ' ', this.state, ' ', this.hint), this.fields);
        break;
      default:
        this.element = el('div', { class: `frame ${frame.kind === 'notice' ? 'notice' : 'plain'}` }, this.body);
    }
    this.long = new Map();
    this.update(frame);
  }

  update(frame) {
    this.frame = frame;
    switch (frame.kind) {
      case 'tool': this.#tool(frame); return;
      case 'notice': this.#write(this.body, `${frame.level}: ${frame.message}`); return;
    }
    this.element.classList.toggle('user', frame.role === 'user');
    const text = wellFormed(frame.text ?? '');
    this.element.hidden = text === '';
    this.#write(this.body, text);
    if (frame.kind === 'thinking') setText(this.summary, `thinking (${text.length} characters)`);
  }

  /** Grows the text node when the text has only grown. */
  #write(node, raw) {
    const text = visible(raw);
    const held = node.firstChild?.data ?? '';
    if (text.length > held.length && text.startsWith(held) && node.firstChild) node.firstChild.appendData(text.slice(held.length));
    else setText(node, text);
  }

  #tool(f) {
    setText(this.name, f.name || 'tool');
    setText(this.state, f.state);
    this.state.className = `badge ${{ running: 'running', done: 'done', error: 'failed' }[f.state] ?? ''}`;
    setText(this.hint, hint(f));
    const rows = [];
    const input = f.input !== undefined ? f.input : f.inputText;
    if (input !== undefined) rows.push(['input', input]);
    if (f.progress) rows.push(['progress', f.progress.text ?? f.progress.percent ?? f.progress.customData ?? '']);
    if (f.error !== undefined) rows.push(['error', f.error]);
    if (f.output !== undefined && f.output !== f.error) rows.push(['output', f.output]);
    for (const r of f.agentRefs ?? []) rows.push(['agent', r.agentId]);
    this.fields.replaceChildren(...rows.flatMap(([name, value]) => [el('dt', {}, name), el('dd', { class: name }, this.#value(name, value))]));
    if (f.state === 'error') this.element.classList.add('bad');
  }

  #value(name, value) {
    const text = wellFormed(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
    if (text.length <= shownAtFirst || this.long.get(name)) return el('pre', {}, text);
    const more = el('button', { onclick: () => { this.long.set(name, true); this.#tool(this.frame); } }, `show all ${text.length} characters`);
    return el('div', {}, el('pre', {}, text.slice(0, shownAtFirst)), more);
  }
}

/** A few words about a call's input. */
function hint(f) {
  const i = f.input;
  if (typeof i === 'string') return i.slice(0, 120);
  if (!i || typeof i !== 'object') return '';
  const v = i.command ?? i.file_path ?? i.path ?? i.pattern ?? i.query ?? i.url ?? i.description ?? i.prompt ?? '';
  return typeof v === 'string' ? v.split('\n', 1)[0].slice(0, 120) : '';
}
