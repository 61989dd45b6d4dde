// The timeline of one agent: turns with their steps and frames, markers and
// task references. An element is made once for each and changed in place.

import { idOf } from '../client/transcript.js';
import { arrange, count, el, setText } from './dom.js';
import { FrameView } from './frames.js';

export class TimelineView {
  #views = new Map();

  /** @param {() => number} watermark how far the transcript has been told */
  constructor(transcript, session, watermark) {
    Object.assign(this, { transcript, session, watermark });
    this.older = el('button', { class: 'older', onclick: () => this.#loadOlder() }, 'Load older turns');
    this.empty = el('p', { class: 'note' }, 'Nothing yet.');
    this.list = el('div');
    this.element = el('div', {}, this.older, this.empty, this.list);
  }

  /** Draws what has changed: ids of items and frames, "items", "reset". */
  update(touched) {
    const t = this.transcript;
    const whole = touched.has('reset');
    if (whole || touched.has('items')) {
      const nodes = t.items.map((item) => this.#view(item).element);
      const held = new Set(t.items.map(idOf));
      for (const id of this.#views.keys()) if (!held.has(id)) this.#views.delete(id);
      arrange(this.list, nodes);
    }
    for (const item of t.items) {
      const view = this.#views.get(idOf(item));
      if (whole || touched.has(idOf(item))) view.update(item, whole ? null : touched);
      else if (view.frames) view.frames(touched);
    }
    this.older.hidden = !t.hasMoreOlder;
    this.empty.hidden = t.items.length > 0;
  }

  #view(item) {
    const id = idOf(item);
    let view = this.#views.get(id);
    if (!view || view.kind !== item.kind) {
      view = item.kind === 'turn' ? new TurnView(item) : new MarkView(item, this.transcript);
      view.kind = item.kind;
      this.#views.set(id, view);
    }
    return view;
  }

  async #loadOlder() {
    const first = this.transcript.items.find((i) => i.kind === 'turn');
    if (!first) return;
    this.older.disabled = true;
    try {
      const query = new URLSearchParams({ agent_id: this.transcript.agentId, before_turn: first.turnId, min_seq: this.watermark() });
      const answer = await fetch(`/v1/sessions/${encodeURIComponent(this.session)}/transcript?${query}`);
      const page = await answer.json();
      if (!answer.ok) throw new Error(page.detail);
      const anchor = this.list.firstChild;
      const before = anchor?.getBoundingClientRect().top ?? 0;
      this.transcript.prepend(page);
      this.update(new Set(['reset']));
      setText(this.older, 'Load older turns');
      const root = this.element.closest('main');
      if (root && anchor) root.scrollTop += anchor.getBoundingClientRect().top - before;
    } catch (e) {
      setText(this.older, `Older turns could not be loaded (${e.message}). Try again`);
    }
    this.older.disabled = false;
  }
}

class TurnView {
  #steps = new Map();

  constructor(turn) {
    this.prompt = el('div', { class: 'prompt' });
    this.state = el('span', { class: 'badge' });
    this.facts = el('span', { class: 'facts' });
    this.error = el('p', { class: 'error' });
    this.steps = el('div', { class: 'steps' });
    this.element = el('section', { class: 'turn', 'data-turn': turn.turnId },
      this.prompt, this.steps, this.error, el('footer', {}, this.state, this.facts));
    this.update(turn, null);
  }

  /** touched null draws everything. */
  update(turn, touched) {
    this.turn = turn;
    setText(this.prompt, turn.prompt ?? (turn.origin.kind === 'user' ? '' : `(${turn.origin.kind})`));
    this.prompt.hidden = this.prompt.textContent === '';
    setText(this.state, turn.state);
    this.state.className = `badge ${badge(turn.state)}`;
    setText(this.facts, [turn.turnId, turn.startedAt, turn.durationMs !== undefined && `${(turn.durationMs / 1000).toFixed(1)} s`, usage(turn.usage),
      turn.hasMoreSteps && 'older steps not shown'].filter(Boolean).join(' · '));
    setText(this.error, turn.error ?? '');
    this.error.hidden = !turn.error;
    const held = new Set(turn.steps.map((s) => s.stepId));
    for (const id of this.#steps.keys()) if (!held.has(id)) this.#steps.delete(id);
    arrange(this.steps, turn.steps.map((s) => {
      let view = this.#steps.get(s.stepId);
      if (!view) this.#steps.set(s.stepId, view = new StepView());
      view.update(s, touched);
      return view.element;
    }));
  }

  /** Draws the frames that have changed. */
  frames(touched) {
    for (const view of this.#steps.values()) view.frames(touched);
  }
}

class StepView {
  #frames = new Map();

  constructor() {
    this.list = el('div');
    this.facts = el('p', { class: 'facts' });
    this.element = el('div', { class: 'step' }, this.list, this.facts);
  }

  update(step, touched) {
    this.step = step;
    const u = step.usage;
    setText(this.facts, [step.state !== 'completed' && step.state, step.model,
      u && `${count(u.inputOther + u.inputCacheCreation)} in · ${count(u.inputCacheRead)} cached · ${count(u.output)} out`,
      step.retry && `retry ${step.retry.nextAttempt} of ${step.retry.maxAttempts}: ${step.retry.errorMessage}`,
      step.endMessage ?? step.endReason].filter(Boolean).join(' · '));
    const held = new Set(step.frames.map((f) => f.frameId));
    for (const id of this.#frames.keys()) if (!held.has(id)) this.#frames.delete(id);
    arrange(this.list, step.frames.map((f) => {
      let view = this.#frames.get(f.frameId);
      if (!view) this.#frames.set(f.frameId, view = new FrameView(f));
      else if (!touched || touched.has(f.frameId)) view.update(f);
      return view.element;
    }));
  }

  frames(touched) {
    for (const f of this.step.frames) if (touched.has(f.frameId)) this.#frames.get(f.frameId)?.update(f);
  }
}

class MarkView {
  constructor(item, transcript) {
    this.transcript = transcript;
    this.text = el('span');
    this.detail = el('pre');
    this.element = el('details', { class: 'marker' }, el('summary', {}, this.text), this.detail);
    this.update(item);
  }

  update(item) {
    if (item.kind === 'taskref') {
      const task = this.transcript.tasks.get(item.taskId);
      setText(this.text, `task ${task?.description ?? item.taskId} ${task?.state ?? ''}`);
      setText(this.detail, task?.outputTail || task?.resultSummary || '');
      return;
    }
    const p = item.payload ?? {};
    const word = typeof p === 'object' ? p.message ?? p.phase ?? p.reason ?? p.text ?? '' : p;
    setText(this.text, `${item.marker} ${word}`.trim());
    setText(this.detail, JSON.stringify(p, null, 2));
    this.element.classList.toggle('bad', p.level === 'error');
  }
}

function badge(state) {
  return { running: 'running', completed: 'done', failed: 'failed', cancelled: 'stale', queued: 'waiting' }[state] ?? '';
}

function usage(u) {
  if (!u) return '';
  return [u.inputTokens !== undefined && `${count(u.inputTokens)} in`, u.cachedTokens !== undefined && `${count(u.cachedTokens)} cached`,
    u.outputTokens !== undefined && `${count(u.outputTokens)} out`, u.cost !== undefined && `$${u.cost.toFixed(4)}`].filter(Boolean).join(' · ');
}
