// Entry of the page: one connection, the session list, and the session that
// the address names (#/s/<session>/a/<agent>).

import { Connection } from '../client/connection.js';
import { SessionList } from './list.js';
import { SessionView } from './session.js';
import { el, setText } from './dom.js';

const byId = (id) => document.getElementById(id);
const status = byId('status');
let lost = false;

const connection = new Connection(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/v1/ws`, {
  status(s) {
    lost = lost || s === 'lost';
    const words = { open: 'live', lost: 'connection lost, trying again', connecting: lost ? 'connection lost, connecting again' : 'connecting' };
    if (s === 'open') lost = false;
    setText(status, words[s]);
    status.className = `status ${s}`;
  },
});

const list = new SessionList(connection, { list: byId('list'), note: byId('list-note'), search: byId('search') });
let view = null;

/** Decodes a part of an address, which anybody may have written. */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // the gateway will say what is wrong with it
  }
}

function route() {
  const m = /^#\/s\/([^/]+)(?:\/a\/([^/]+))?/.exec(location.hash);
  const session = m ? decode(m[1]) : '';
  const agent = m?.[2] ? decode(m[2]) : 'main';
  list.select(session);
  if (view?.session !== session) {
    view?.close();
    view = session ? new SessionView(connection, byId('main'), session, () => list.row(session)) : null;
    if (!session) byId('main').replaceChildren(el('p', { class: 'note' }, 'Choose a session.'));
  }
  view?.show(agent);
  document.title = session ? `${session} · Steno` : 'Steno';
}

addEventListener('hashchange', route);
route();
