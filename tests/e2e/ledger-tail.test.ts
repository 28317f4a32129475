/** Calls as they end: what `/spend/logs/v2` shows a caller comes to it by `/spend/logs/events`, from every replica. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Caller } from '../../src/core/caller.ts'
import { followedRows, rowFilter } from '../../src/endpoints/spend/common/row-filter.ts'
import { isFollowed } from '../../src/store/ledger/tail/tail-match.ts'
import { backends, masterKey, standardConfig, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

interface Event {
  readonly id: string
  readonly name: string
  readonly data: string
}

/** A stream that is open; what has come so far. */
interface Followed {
  readonly events: readonly Event[]
  /** The rows of all events so far, oldest first. */
  rows(): Json[]
  /** Ends it from here, or waits for its end. */
  leave(): Promise<void>
  readonly ended: Promise<void>
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Resolves when the stream has said where it begins. */
async function follow(
  gateway: Gateway,
  key: string | { readonly cookie: string },
  query = '',
  lastId?: string,
): Promise<Followed> {
  const left = new AbortController()
  const identity = typeof key === 'string' ? bearer(key) : key
  const headers = { ...identity, ...(lastId !== undefined && { 'last-event-id': lastId }) }
  const answer = await fetch(`${gateway.url}/spend/logs/events${query}`, { headers, signal: left.signal })
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
  const events: Event[] = []
  const read = async () => {
    let rest = ''
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream() as never) as AsyncIterable<string>) {
      const blocks = (rest + piece).split('\n\n')
      rest = blocks.pop()!
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
        events.push({ id: field('id'), name: field('event'), data: field('data') })
      }
    }
  }
  const ended = read().catch(error => {
    if (!left.signal.aborted) events.push({ id: '', name: 'broken', data: String(error) })
  })
  if (lastId === undefined) await until(() => events.length > 0)
  return {
    events,
    rows: () =>
      events
        .filter(({ name }) => name === 'rows')
        .flatMap(({ data }) => (JSON.parse(data).data as Json[]).toReversed()),
    async leave() {
      left.abort()
      await ended
    },
    ended,
  }
}

async function call(gateway: Gateway, key: string, model = 'chat-model', user?: string, headers = {}): Promise<string> {
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...bearer(key), ...headers },
    body: JSON.stringify({ model, user, messages: [{ role: 'user', content: 'Hi' }] }),
  })
  await answer.text()
  return answer.headers.get('x-proxy-call-id')!
}

const idsOf = (rows: readonly Json[]) => rows.map(row => row.request_id as string).toSorted()

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    let ann: string
    let bob: string
    let chief: string
    beforeAll(async () => {
      gateway = await startGateway({ backend })
      for (const user_id of ['ann', 'bob', 'chief'])
        await gateway.admin('/user/new', { user_id, user_role: 'internal_user', auto_create_key: false })
      const members = [
        { user_id: 'ann', role: 'user' },
        { user_id: 'chief', role: 'admin' },
      ]
      await gateway.admin('/team/new', { team_id: 'red', members_with_roles: members })
      ann = await gateway.key({ user_id: 'ann', team_id: 'red' })
      bob = await gateway.key({ user_id: 'bob' })
      chief = await gateway.key({ user_id: 'chief' })
    })
    afterAll(() => gateway.stop())

    test('a key, a user, the admin of a team and the master key see what the ledger shows them', async () => {
      const ownKey = await gateway.key()
      const callers = [ownKey, ann, bob, chief, masterKey]
      const streams = await Promise.all(callers.map(key => follow(gateway, key)))
      expect(streams.map(one => one.events.map(({ name }) => name))).toEqual(callers.map(() => ['reload']))
      for (const key of [ownKey, ann, bob, chief]) await call(gateway, key)
      while ((await gateway.rows()).length < 4) await Bun.sleep(20)
      await until(() => streams[4]!.rows().length === 4 && streams[3]!.rows().length === 2)
      for (const [at, key] of callers.entries()) {
        const listed = await (await fetch(`${gateway.url}/spend/logs/v2`, { headers: bearer(key) })).json()
        const byId = (a: Json, b: Json) => (a.request_id < b.request_id ? -1 : 1)
        expect(streams[at]!.rows().toSorted(byId)).toEqual((listed as Json).data.toSorted(byId))
      }
      expect(streams.map(one => one.rows().length)).toEqual([1, 1, 1, 2, 4])
      for (const one of streams) await one.leave()
    })

    test('admins of an organization and of a team, and viewers, see theirs and nothing of others', async () => {
      const ok = async (path: string, body: object) => {
        const answer = await gateway.admin(path, body)
        if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
      }
      for (const organization_id of ['acme', 'rival'])
        await ok('/organization/new', { organization_id, organization_alias: organization_id })
      const roles = {
        olga: 'internal_user',
        vera: 'internal_user_viewer',
        vic: 'proxy_admin_viewer',
        rita: 'internal_user',
      }
      for (const [user_id, user_role] of Object.entries(roles))
        await ok('/user/new', { user_id, user_role, auto_create_key: false })
      await ok('/organization/member_add', {
        organization_id: 'acme',
        member: { user_id: 'olga', role: 'org_admin' },
      })
      await ok('/organization/member_add', {
        organization_id: 'rival',
        member: { user_id: 'rita', role: 'org_admin' },
      })
      await ok('/team/new', { team_id: 'acme-team', organization_id: 'acme' })
      await ok('/team/new', { team_id: 'rival-team', organization_id: 'rival' })
      const keys = {
        acme: await gateway.key({ team_id: 'acme-team' }),
        rival: await gateway.key({ team_id: 'rival-team' }),
        veras: await gateway.key({ user_id: 'vera' }),
      }
      const readers = await Promise.all(Object.keys(roles).map(user_id => gateway.key({ user_id })))
      const [olga, vera, vic, rita] = await Promise.all(readers.map(key => follow(gateway, key)))
      const made = Object.fromEntries(
        await Promise.all(Object.entries(keys).map(async ([name, key]) => [name, await call(gateway, key)] as const)),
      )
      await until(() => vic!.rows().length === 3 && olga!.rows().length > 0 && vera!.rows().length > 0)
      await until(() => rita!.rows().length > 0)
      // A call after these has come to all who see it: nothing is under way any more.
      const last = await call(gateway, keys.rival)
      await until(() => [vic, rita].every(one => idsOf(one!.rows()).includes(last)))
      const seen = [olga, vera, rita].map(one => idsOf(one!.rows()))
      expect(seen).toEqual([[made.acme], [made.veras], [made.rival, last].toSorted()] as string[][])
      expect(vic!.rows().length).toBe(4)
      await Promise.all([olga, vera, vic, rita].map(one => one!.leave()))
    })

    test('who loses a right sees nothing more of it, while the stream goes on', async () => {
      const stream = await follow(gateway, chief)
      const before = await call(gateway, ann)
      await until(() => idsOf(stream.rows()).includes(before))
      await gateway.admin('/team/member_update', { team_id: 'red', user_id: 'chief', role: 'user' })
      // Asked each second: until then calls of the team may still come.
      for (let quiet = false; !quiet; ) {
        const seen = await call(gateway, ann)
        const own = await call(gateway, chief)
        await until(() => idsOf(stream.rows()).includes(own))
        quiet = !idsOf(stream.rows()).includes(seen)
      }
      await stream.leave()
    })

    test('a session that ends ends its streams', async () => {
      await gateway.admin('/sign-in/password', { user_id: 'ann', new_password: 'correct horse battery' })
      const signedIn = await fetch(`${gateway.url}/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'ann', password: 'correct horse battery' }),
      })
      expect(signedIn.status).toBe(200)
      const cookie = signedIn.headers
        .getSetCookie()
        .map(one => one.split(';')[0]!)
        .join('; ')
      const stream = await follow(gateway, { cookie })
      const own = await call(gateway, ann)
      await until(() => idsOf(stream.rows()).includes(own))
      await gateway.admin('/sign-in/sessions/revoke-all', { user_id: 'ann' })
      await stream.ended
      expect(stream.events.slice(-2).map(({ name }) => name)).toEqual(['error', 'done'])
    })

    test('a filter finds in memory what it finds in the database', async () => {
      await call(gateway, ann, 'nobody', 'customer-1')
      await call(gateway, bob, 'claude-model', 'customer-1', { 'x-litellm-session-id': 'session-1' })
      while ((await gateway.rows('&end_user=customer-1')).length < 2) await Bun.sleep(20)
      const all = await gateway.rows()
      const { key_id, request_id, started_at_ms } = all[0]!
      const admin = { role: 'proxy_admin', key: { id: 'master' } } as Caller
      const queries: Record<string, string>[] = [
        {},
        { key_id },
        { user_id: 'ann' },
        { team_id: 'red' },
        { end_user: 'customer-1' },
        { end_user: 'customer-1', outcome: 'success' },
        { model: 'chat-model' },
        { model: 'CHAT-MODEL' },
        { request_id },
        { outcome: 'error' },
        { session_id: 'session-1' },
        { hits: 'guardrail' },
        { hits: 'cache' },
        { start_date: new Date(started_at_ms).toISOString() },
        { end_date: new Date(started_at_ms).toISOString() },
        { user_id: 'none' },
      ]
      for (const query of queries) {
        const inMemory = all.filter(row =>
          isFollowed(row, followedRows({ filter: rowFilter().parse(query), among: {} }, admin)),
        )
        const stored = await gateway.rows(`&${new URLSearchParams(query)}`)
        expect([query, idsOf(inMemory)]).toEqual([query, idsOf(stored)])
      }
    })

    test('a stream goes on after the last id that was read', async () => {
      const first = await follow(gateway, ann)
      const before = await call(gateway, ann)
      await until(() => idsOf(first.rows()).includes(before))
      const lastId = first.events.at(-1)!.id
      await first.leave()
      const missed = await call(gateway, ann)
      const again = await follow(gateway, ann, '', lastId)
      await until(() => again.rows().length > 0)
      expect(again.events.map(({ name }) => name)).toEqual(['rows'])
      expect(idsOf(again.rows())).toEqual([missed])
      await again.leave()
      const strange = await follow(gateway, ann, '', 'none-7')
      await until(() => strange.events.length > 0)
      expect(strange.events[0]!.name).toBe('reload')
      await strange.leave()
    })

    test('a key has ten streams; HEAD takes none, and one that is left is free', async () => {
      const key = await gateway.key()
      const url = `${gateway.url}/spend/logs/events`
      for (let count = 0; count < 12; count++) {
        const head = await fetch(url, { method: 'HEAD', headers: bearer(key) })
        expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
      }
      const streams = await Promise.all(Array.from({ length: 10 }, () => follow(gateway, key)))
      const refused = await fetch(url, { headers: bearer(key) })
      expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('10 times already')])
      await streams.pop()!.leave()
      let freed = await fetch(url, { headers: bearer(key) })
      while (freed.status === 429) {
        await freed.text()
        freed = await fetch(url, { headers: bearer(key) })
      }
      expect(freed.status).toBe(200)
      await freed.body!.cancel()
      for (const one of streams) await one.leave()
    })

    test('bad filters and the calls of another key are refused as in the list', async () => {
      const key = await gateway.key()
      for (const query of ['?key_id=another', '?outcome=none', '?limit=5']) {
        const answer = await fetch(`${gateway.url}/spend/logs/events${query}`, { headers: bearer(key) })
        expect([query, answer.status]).toEqual([query, query.includes('key_id') ? 403 : 422])
        await answer.text()
      }
    })

    test('a deleted key ends its streams', async () => {
      const key = await gateway.key()
      const stream = await follow(gateway, key)
      await gateway.admin('/key/delete', { keys: [key] })
      await stream.ended
      expect(stream.events.map(({ name }) => name)).toEqual(['reload', 'error', 'done'])
    })
  })

test('a gateway that stops ends its streams, and does not wait for them', async () => {
  const gateway = await startGateway()
  const stream = await follow(gateway, masterKey)
  await gateway.stop()
  await stream.ended
  expect(stream.events.map(({ name }) => name)).toEqual(['reload', 'done'])
})

/** What is unread is kept in this process: the database has no part in it. */
test('a reader that reads nothing is cut, and others go on', async () => {
  const gateway = await startGateway()
  const key = await gateway.key()
  const { hostname, port } = new URL(gateway.url)
  const slow = connect({ host: hostname, port: Number(port) })
  const lines = ['GET /spend/logs/events HTTP/1.1', 'host: x', `authorization: Bearer ${key}`, '', '']
  slow.write(lines.join('\r\n'))
  const [head] = (await once(slow, 'data')) as [Buffer]
  expect(head.toString()).toStartWith('HTTP/1.1 200')
  slow.pause()
  const readers = await Promise.all(Array.from({ length: 9 }, () => follow(gateway, key)))
  const hasRoom = async () => {
    const answer = await fetch(`${gateway.url}/spend/logs/events`, { headers: bearer(key) })
    await answer.body!.cancel()
    return answer.status === 200
  }
  expect(await hasRoom()).toBe(false)
  // Until more is unread than the gateway and the kernel keep: then its place is free.
  const agent = { 'user-agent': 'a'.repeat(12_000) }
  while (!(await hasRoom()))
    await Promise.all(Array.from({ length: 50 }, () => call(gateway, key, 'local/simulated-chat', undefined, agent)))
  const last = await call(gateway, key)
  await until(() => readers.every(one => idsOf(one.rows()).includes(last)))
  expect(readers.every(one => one.events.every(({ name }) => name === 'reload' || name === 'rows'))).toBe(true)
  slow.destroy()
  for (const one of readers) await one.leave()
  await gateway.stop()
})

const shared = backends().find(one => one.name !== 'SQLite')
test.skipIf(!shared)('a call of another replica comes, and only sealed through Redis', async () => {
  const place = await shared!.open()
  const backend = { name: 'shared', open: async () => ({ ...place, close: async () => {} }) }
  const here = await startGateway({ backend, config: standardConfig })
  const there = await startGateway({ backend, config: standardConfig })
  const key = await here.key({ key_alias: 'alias-canary' })
  const stream = await follow(here, key)
  const wire = new Bun.RedisClient(place.redisUrl)
  const texts: string[] = []
  await wire.subscribe('modelgate:ledger-tail', text => texts.push(text))
  const made = [await call(there, key), await call(here, key)]
  await until(() => stream.rows().length === 2 || texts.length > 50)
  expect(idsOf(stream.rows())).toEqual(made.toSorted())
  expect(texts.join('')).not.toContain('alias-canary')
  await stream.leave()
  wire.close()
  await there.stop()
  await here.stop()
  await place.close()
})
