// One WebSocket to the gateway: subscriptions with cursors, reconnects that
// resume where they stopped, and the session list.

import { Transcript } from './transcript.js';

const firstPause = 250;
const longestPause = 10_000;

/**
 * @typedef {object} Watcher told what happens to a watched session
 * @property {(agent: string, touched: Set<string>) => void} changed
 * @property {(agents: object[]) => void} roster
 */

export class Connection {
  #url; #socket = null; #pause = firstPause; #timer = 0; #ids = 0; #closed = false;
  #sessions = new Map();
  #list = null;

  /**
   * @param {string} url ws: or wss: address of /v1/ws
   * @param {{status?: (s: 'connecting'|'open'|'lost') => void, WebSocket?: Function}} options
   */
  constructor(url, options = {}) {
    this.#url = url;
    this.status = options.status ?? (() => {});
    this.Socket = options.WebSocket ?? globalThis.WebSocket;
    this.heartbeat = 10_000;
    this.#connect();
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.alarm);
    this.#socket?.close(1000);
  }

  /**
   * Watches agents of a session.
   * @param {string} session
   * @param {Object<string, string>} grades by agent id, "*" for the others
   * @param {Watcher} watcher
   * @returns {Watched}
   */
  watch(session, grades, watcher) {
    const w = new Watched(session, grades, watcher);
    this.#sessions.set(session, w);
    this.#subscribe(w);
    return w;
  }

  /** Stops watching a session. */
  leave(session) {
    if (this.#sessions.delete(session)) this.#send('unsubscribe_v2', { session_id: session });
  }

  /**
   * Keeps the session list. told is called with {sessions, has_more} at first
   * and whenever the list begins anew, then with {upsert} and {remove}.
   */
  watchList(filter, told) {
    this.#list = { filter, told };
    this.#send('subscribe_sessions', filter);
  }

  #connect() {
    this.status('connecting');
    const socket = new this.Socket(this.#url);
    this.#socket = socket;
    socket.onopen = () => {
      this.#send('client_hello', { client_id: 'steno-page', capabilities: ['prev_seq', 'append_input'] });
      if (this.#list) this.#send('subscribe_sessions', this.#list.filter);
      for (const w of this.#sessions.values()) this.#subscribe(w);
      this.status('open');
      this.#listen();
    };
    socket.onmessage = (event) => {
      this.#pause = firstPause;
      this.#listen();
      this.#take(JSON.parse(event.data));
    };
    socket.onclose = () => this.#lost(socket);
    socket.onerror = () => {};
  }

  /** Gives the connection up when nothing at all has come for a while. */
  #listen() {
    clearTimeout(this.alarm);
    const socket = this.#socket;
    this.alarm = setTimeout(() => { socket.close(); this.#lost(socket); }, 3 * this.heartbeat);
  }

  #lost(socket) {
    if (socket !== this.#socket || this.#closed) return;
    this.#socket = null;
    clearTimeout(this.alarm);
    this.status('lost');
    this.#timer = setTimeout(() => this.#connect(), this.#pause * (0.5 + Math.random()));
    this.#pause = Math.min(2 * this.#pause, longestPause);
  }

  #send(type, payload) {
    if (this.#socket?.readyState !== 1) return;
    this.#socket.send(JSON.stringify({ type, id: String(++this.#ids), payload }));
  }

  #subscribe(w) {
    const payload = { session_id: w.session, transcript: w.grades };
    if (w.epoch && Object.keys(w.marks).length > 0) {
      payload.transcript_since = w.marks;
      payload.epoch = w.epoch;
    }
    this.#send('subscribe_v2', payload);
  }

  #take(frame) {
    const p = frame.payload ?? {};
    switch (frame.type) {
      case 'server_hello':
        this.heartbeat = p.heartbeat_ms ?? this.heartbeat;
        return;
      case 'ping':
        this.#send('pong', { nonce: p.nonce });
        return;
      case 'sessions.reset': this.#list?.told({ sessions: p.sessions, has_more: p.has_more }); return;
      case 'sessions.upsert': this.#list?.told({ upsert: p.sessions }); return;
      case 'sessions.remove': this.#list?.told({ remove: p.session_ids }); return;
    }
    const w = this.#sessions.get(frame.session_id ?? p.session_id);
    if (!w) return;
    switch (frame.type) {
      case 'agents.update': w.watcher.roster(p.agents); return;
      case 'transcript.reset': w.reset(p); return;
      case 'transcript.ops':
        if (!w.ops(p)) this.#again(w, p.agent_id);
    }
  }

  /** Something was missed: the server is asked to begin this session again. */
  #again(w, agent) {
    delete w.marks[agent];
    this.#send('unsubscribe_v2', { session_id: w.session });
    this.#subscribe(w);
  }
}

/** A watched session: a transcript and a watermark for each agent. */
export class Watched {
  constructor(session, grades, watcher) {
    Object.assign(this, { session, grades, watcher, epoch: '', marks: {}, agents: new Map() });
  }

  transcript(agent) {
    if (!this.agents.has(agent)) this.agents.set(agent, new Transcript(agent));
    return this.agents.get(agent);
  }

  reset(p) {
    if (p.epoch !== this.epoch) { // another numbering: nothing told before counts
      this.epoch = p.epoch;
      this.marks = {};
    }
    this.transcript(p.agent_id).reset({ ...p.snapshot, hasMoreOlder: p.has_more_older });
    this.marks[p.agent_id] = p.seq;
    this.watcher.changed(p.agent_id, new Set(['reset']));
  }

  /**
   * Applies a batch by its place in the sequence.
   * @returns {boolean} false when a batch before this one is missing
   */
  ops(p) {
    const mark = this.marks[p.agent_id];
    if (mark === undefined || p.epoch !== this.epoch) return true; // its reset is on the way
    if (p.seq <= mark) return true;
    if (p.prev_seq > mark) return false;
    const { gap, touched } = this.transcript(p.agent_id).apply(p.ops);
    if (gap) return false;
    this.marks[p.agent_id] = p.seq;
    if (touched.size > 0) this.watcher.changed(p.agent_id, touched);
    return true;
  }
}
