/** What the attack bench does to a gateway: every route without a key, every phase of a connection. */
import { allEndpoints } from '../../src/endpoints/index.ts'
import type { connectionPhases } from '../support/network/connection-phases.ts'

const endpoints = await allEndpoints()

/** One socket of an attacker. */
export interface AttackSocket {
  send(bytes: string | Uint8Array): void
  /** Reads nothing more. */
  stopReading(): void
  /** Ticks since it was opened. */
  readonly ticks: number
}

export interface Attack {
  readonly name: string
  /** Whose row of docs/connections.md says how long a place may be held. */
  readonly phase: keyof typeof connectionPhases
  /** So many sockets are open at once; one that is closed is replaced. */
  readonly sockets: number
  open(socket: AttackSocket): void
  /** Every 100 ms for each open socket. */
  tick?(socket: AttackSocket): void
}

/** More than the gateway has places. */
const many = 400
/** Fewer: none makes room for another, so that each holds its place as long as it may. */
const some = 200

const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`
const post = (more: string): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${more}\r\n`
const bearer = (key: string): string => `authorization: Bearer ${key}\r\n`
const megabyte = Buffer.alloc(1024 * 1024, ' ')
const crumbs = Buffer.from('1\r\n \r\n'.repeat(20_000))

/** Paths that need no key, as the router has them; `assets` = what `{asset}` stands for. */
export function openPaths(assets: readonly string[]): string[] {
  return endpoints
    .filter(({ auth, method }) => auth === 'none' && method === 'GET')
    .flatMap(({ paths }) => paths)
    .flatMap(path => (path.includes('{asset}') ? assets.map(asset => path.replace('{asset}', asset)) : [path]))
}

/** A hundred requests a second over ten connections, each answer read. */
const requests = (name: string, request: () => string): Attack => ({
  name,
  phase: 'idle',
  sockets: 10,
  open: socket => socket.send(request()),
  tick: socket => socket.send(request()),
})

let unknownKeys = 0

function routeAttacks(assets: readonly string[]): Attack[] {
  return [
    ...openPaths(assets).map(path => requests(`GET ${path}`, () => get(path))),
    requests('a path that is not there', () => get(`/nothing/${unknownKeys++}`)),
    requests('a call without a key', () => `${post('content-length: 2\r\n')}{}`),
    requests('a call with an unknown key', () => `${post(`${bearer(`sk-${unknownKeys++}`)}content-length: 2\r\n`)}{}`),
    requests('OPTIONS', () => get('/v1/models').replace('GET', 'OPTIONS')),
    { name: 'what is no HTTP', phase: 'closing', sockets: 20, open: socket => socket.send('\x16\x03\x01\x02\0\x01') },
  ]
}

function unauthenticatedAttacks(): Attack[] {
  return [
    { name: 'connects and says nothing', phase: 'silent', sockets: many, open() {} },
    {
      name: 'half a head',
      phase: 'head',
      sockets: many,
      open: socket => socket.send('POST /v1/chat/completions HTTP/1.1\r\nhost: loc'),
    },
    {
      name: 'a head, byte by byte',
      phase: 'head',
      sockets: many,
      open: socket => socket.send('POST /'),
      tick: socket => socket.send('x'),
    },
    {
      name: 'refused, owes a small body',
      phase: 'refusedOwing',
      sockets: some,
      open: socket => socket.send(post('content-length: 60000\r\n')),
    },
    {
      name: 'refused, drips a small body',
      phase: 'refusedOwing',
      sockets: some,
      open: socket => socket.send(post('content-length: 60000\r\n')),
      tick: socket => socket.send('x'),
    },
    {
      name: 'refused, owes 1 GB and sends it',
      phase: 'closing',
      sockets: 50,
      open: socket => socket.send(post('content-length: 1000000000\r\n')),
      tick: socket => socket.send(megabyte),
    },
    {
      name: 'refused, chunks of one byte without end',
      phase: 'closing',
      sockets: 50,
      open: socket => socket.send(post('transfer-encoding: chunked\r\n')),
      tick: socket => socket.send(crumbs),
    },
    {
      name: 'does not read a large answer',
      phase: 'refusedUnread',
      sockets: many,
      open(socket) {
        socket.stopReading()
        socket.send(get('/openapi.json'))
      },
    },
    {
      name: 'pipelines 5,000 requests, reads nothing',
      phase: 'refusedUnread',
      sockets: many,
      open(socket) {
        socket.stopReading()
        socket.send(get('/health/liveliness').repeat(5000))
      },
    },
    requests('pipelines 20 requests, reads them', () => get('/health/liveliness').repeat(20)),
    {
      name: 'idle between requests',
      phase: 'idle',
      sockets: many,
      open: socket => socket.send(get('/health/liveliness')),
    },
  ]
}

/** With a key that may make ten calls at once. */
function keyedAttacks(key: string): Attack[] {
  const authorization = bearer(key)
  return [
    {
      name: 'with a key: a head without its body',
      phase: 'body',
      sockets: many,
      open: socket => socket.send(post(`${authorization}content-length: 1000000\r\n`)),
    },
    {
      name: 'with a key: drips its body',
      phase: 'body',
      sockets: many,
      open: socket => socket.send(post(`${authorization}content-length: 1000000\r\n`)),
      tick: socket => socket.send('x'),
    },
    {
      name: 'with a key: 30 MB that stop before their end',
      phase: 'body',
      sockets: 30,
      open: socket => socket.send(post(`${authorization}content-length: ${30 * megabyte.length}\r\n`)),
      tick: socket => {
        if (socket.ticks < 30) socket.send(megabyte)
      },
    },
    {
      name: 'with a key: chunks of one byte',
      phase: 'body',
      sockets: 10,
      open: socket => socket.send(post(`${authorization}transfer-encoding: chunked\r\n`)),
      tick: socket => socket.send(crumbs),
    },
  ]
}

export const attacks = (key: string, assets: readonly string[]): Attack[] => [
  ...unauthenticatedAttacks(),
  ...keyedAttacks(key),
  ...routeAttacks(assets),
]
