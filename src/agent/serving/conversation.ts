import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Millis } from '../../base/model/log-line.ts';
import { createGate, type Gate } from './gate.ts';
import {
  type HttpRefusal,
  isRefusal,
  malformed,
  mostHeaders,
  readRequest,
  type RequestHead,
  type ServedAnswer,
  tooLong,
} from './requests.ts';

export interface ConversationOptions {
  /** The longest time to send a request; twice as long to take the answer. */
  readonly timeout: Millis;
  /** The longest time between two requests of a connection; 0: each connection has one. */
  readonly idleTimeout: Millis;
  /** The most bytes of a head. */
  readonly longestHead: number;
  /** Whether a name is one of this program's own, in addition to addresses and names of Services. */
  readonly isOwnHost: (host: string) => boolean;
  /** `approve`: strangers cannot push this connection out any more. */
  readonly answer: (asked: RequestHead, address: string, approve: () => void) => Promise<ServedAnswer>;
  /** A connection, or a part of a request, has come. */
  readonly onArrival?: (() => void) | undefined;
  /** Events of a connection that are not answered as a request. */
  readonly refuse: (refusal: HttpRefusal) => ServedAnswer;
}

/** The other side of a connection. */
export interface Client {
  readonly socket: Socket;
  readonly address: string;
  readonly onAnswering: (isAnswering: boolean) => void;
  readonly onApproved: () => void;
}

export interface Conversations {
  /** Answers one request at a time. If more than one comes at once, the connection ends after the first. */
  start: (client: Client) => void;
  /** Ends each connection after the answer that is under way. */
  finish: () => void;
}

interface Conversation {
  readonly gate: Gate;
  readonly client: Client;
  isAnswering: boolean;
  isLast: boolean;
  deadline: NodeJS.Timeout;
}

export function createConversations(options: ConversationOptions): Conversations {
  const { timeout, idleTimeout, isOwnHost } = options;
  const open = new Map<Duplex, Conversation>();
  const http = createParser(options, refuse);
  for (const event of ['request', 'checkContinue', 'checkExpectation'])
    http.on(event, (request: IncomingMessage, response: ServerResponse) => {
      const conversation = begin(request.socket);
      if (conversation !== undefined) void respond(conversation, request, response);
    });
  return {
    start(client) {
      client.socket.on('data', () => options.onArrival?.());
      const gate = createGate(client.socket, () => expectWithin(conversation, timeout));
      const isLast = idleTimeout === 0;
      const deadline = destroyAfter(gate.stream, timeout);
      const conversation: Conversation = { gate, client, isAnswering: false, isLast, deadline };
      open.set(gate.stream, conversation);
      gate.stream.once('close', () => {
        clearTimeout(conversation.deadline);
        open.delete(gate.stream);
      });
      http.emit('connection', gate.stream);
    },
    finish() {
      for (const conversation of open.values()) conversation.isLast = true;
    },
  };

  /** Undefined if another request of the connection is being answered: this one never will be. */
  function begin(stream: Duplex): Conversation | undefined {
    const conversation = open.get(stream);
    if (conversation === undefined) return undefined;
    if (conversation.isAnswering) {
      conversation.isLast = true;
      return undefined;
    }
    conversation.isAnswering = true;
    conversation.gate.shut();
    if (conversation.gate.hasMore) conversation.isLast = true;
    conversation.client.onAnswering(true);
    expectWithin(conversation, 2 * timeout);
    return conversation;
  }

  async function respond(
    conversation: Conversation,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { address, onApproved } = conversation.client;
    const asked = readRequest(request, isOwnHost);
    if (isRefusal(asked)) conversation.isLast = true;
    // Always awaited: the other bytes of the same piece are read first.
    const answer = await (isRefusal(asked) ? options.refuse(asked) : options.answer(asked, address, onApproved));
    if (conversation.isLast) response.setHeader('connection', 'close');
    response.once('finish', () => onTaken(conversation));
    response.writeHead(answer.status, headersOf(answer)).end(answer.body);
  }

  function onTaken(conversation: Conversation): void {
    conversation.isAnswering = false;
    conversation.client.onAnswering(false);
    if (conversation.isLast) {
      conversation.gate.stream.end();
      return;
    }
    expectWithin(conversation, idleTimeout);
    conversation.gate.open();
  }

  /** Answers input that Node.js does not hand over as a request. */
  function refuse(stream: Duplex, refusal: HttpRefusal): void {
    if (begin(stream) !== undefined) stream.end(lastAnswer(options.refuse(refusal)));
  }
}

/** It does not listen, and has no timers: the deadline of each connection covers both directions. */
function createParser(
  { longestHead, idleTimeout }: ConversationOptions,
  refuse: (stream: Duplex, refusal: HttpRefusal) => void,
): Server {
  const http = createServer({ maxHeaderSize: longestHead, requireHostHeader: false, keepAliveTimeout: idleTimeout });
  http.maxHeadersCount = mostHeaders + 1;
  http.on('connect', (_, stream) => refuse(stream, { status: 405, text: 'Only GET and HEAD.\n' }));
  http.on('clientError', ({ code }: NodeJS.ErrnoException, stream) =>
    refuse(stream, code === 'HPE_HEADER_OVERFLOW' ? tooLong : malformed),
  );
  return http;
}

function lastAnswer(answer: ServedAnswer): Buffer {
  const headers = Object.entries({ ...headersOf(answer), connection: 'close' });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}\r\n${lines}\r\n`;
  return Buffer.concat([Buffer.from(head), answer.body]);
}

function expectWithin(conversation: Conversation, time: Millis): void {
  clearTimeout(conversation.deadline);
  conversation.deadline = destroyAfter(conversation.gate.stream, time);
}

function destroyAfter(stream: Duplex, time: Millis): NodeJS.Timeout {
  return setTimeout(() => stream.destroy(), time).unref();
}

function headersOf({ type, body, headers }: ServedAnswer): Record<string, string> {
  return {
    'content-type': type,
    'content-length': String(body.length),
    'x-content-type-options': 'nosniff',
    ...headers,
  };
}
