/**
 * Every operation that changes something, made from the router, with its body held back while the rights of its sender
 * end: when the body comes, nothing changes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import type { Endpoint } from '../../src/core/endpoint.ts'
import { allEndpoints } from '../../src/endpoints/index.ts'
import { until } from '../support/until.ts'
import { Browser } from './browser.ts'
import { backends, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, unknown>
type Headers = Record<string, string>

const changing = (await allEndpoints()).filter(({ auth, method }) => auth !== 'none' && method !== 'GET')
const chat = { model: 'chat-model', messages: [{ role: 'user', content: 'hi' }] }

/** Bodies with which an administrator changes something at once; all other operations get an empty object. */
const bodies: Readonly<Record<string, Json>> = {
  createUser: { user_id: 'planted', user_role: 'proxy_admin' },
  updateUser: { user_id: 'victim', user_role: 'proxy_admin' },
  updateUsers: { users: [{ user_id: 'victim', user_role: 'proxy_admin' }] },
  createKey: { key_alias: 'planted' },
  createServiceAccountKey: { team_id: 'red', key_alias: 'planted' },
  createTeam: { team_id: 'planted' },
  updateTeam: { team_id: 'red', team_alias: 'planted' },
  addTeamMembers: { team_id: 'red', member: { role: 'admin', user_id: 'outsider' } },
  deleteTeamMember: { team_id: 'red', user_id: 'victim' },
  createOrganization: { organization_id: 'planted', organization_alias: 'planted' },
  createBudget: { budget_id: 'planted', max_budget: 1 },
  createCustomer: { user_id: 'planted' },
  createTag: { name: 'planted' },
  createModel: { model_name: 'planted', proxy_params: { model: 'openai/gpt-4.1', api_key: 'none' } },
  createCredential: { credential_name: 'planted', credential_values: { api_key: 'none' }, credential_info: {} },
  createInvitation: { user_id: 'victim' },
  setPassword: { user_id: 'victim', new_password: 'a password of a thief' },
  revokeSessions: { user_id: 'victim' },
  createThread: { metadata: { planted: 'yes' } },
  createAssistant: { model: 'chat-model', name: 'planted' },
  createConversation: { title: 'planted' },
  createChatCompletion: chat,
  createResponse: { model: 'chat-model', input: 'hi' },
  createMessage: { ...chat, max_tokens: 9 },
  deleteTeams: { team_ids: ['red'] },
  deleteUsers: { user_ids: ['victim'] },
}

/** One request whose body is held back. */
class HeldRequest {
  readonly operation: string
  readonly #socket: Socket
  readonly #body: string
  #received = ''

  constructor(url: string, endpoint: Endpoint, credential: Headers) {
    const { hostname, port } = new URL(url)
    this.operation = endpoint.doc.operationId
    const path = endpoint.paths[0]!.replaceAll(/\{\w+\+?\}/g, 'none')
    const type = endpoint.doc.requestType ?? 'application/json'
    const isForm = type === 'multipart/form-data'
    this.#body = isForm
      ? '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nchat-model\r\n--b--\r\n'
      : JSON.stringify(bodies[this.operation] ?? {})
    const headers = {
      host: `${hostname}:${port}`,
      'content-type': isForm ? `${type}; boundary=b` : type,
      'content-length': String(this.#body.length),
      expect: '100-continue',
      connection: 'close',
      ...credential,
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    this.#socket = connect({ host: hostname, port: Number(port) }, () =>
      this.#socket.write([`${endpoint.method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n')),
    )
    this.#socket.on('data', (piece: Buffer) => (this.#received += piece.toString('latin1')))
    this.#socket.on('error', () => {})
  }

  /** The gateway has admitted the head and waits for the body, or has answered without it. */
  get begun(): boolean {
    return this.#received.includes('\r\n')
  }

  get isHeld(): boolean {
    return this.#received.startsWith('HTTP/1.1 100')
  }

  /** Sends the body; resolves with the status and the text of the answer. */
  async release(): Promise<{ status: number; text: string }> {
    const rest = () => this.#received.slice(this.#received.indexOf('\r\n\r\n') + 4)
    this.#socket.write(this.#body)
    const closed = () => this.#socket.destroyed || this.#socket.readableEnded
    await until(closed, `the answer of ${this.operation}`)
    const text = rest()
    return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), text }
  }

  end(): void {
    this.#socket.destroy()
  }
}

interface Scenario {
  readonly name: string
  /** The role of the user who sends; `team admin` = an internal user who is admin of the team `red`. */
  readonly as: 'proxy_admin' | 'team admin'
  /** With the cookie of a session in the place of a key. */
  readonly inSession?: true
  lose(admin: Admin, sender: Sender): Promise<unknown>
  readonly statuses: readonly number[]
}

type Admin = (path: string, body: Json) => Promise<Json>
interface Sender {
  readonly id: string
  readonly key: string
  readonly browser: Browser | undefined
}

const scenarios: readonly Scenario[] = [
  {
    name: 'is deleted',
    as: 'proxy_admin',
    lose: (admin, { id }) => admin('/user/delete', { user_ids: [id] }),
    statuses: [401],
  },
  {
    name: 'is blocked',
    as: 'proxy_admin',
    lose: (admin, { id }) => admin('/user/update', { user_id: id, blocked: true }),
    statuses: [401],
  },
  {
    name: 'is lowered',
    as: 'proxy_admin',
    lose: (admin, { id }) => admin('/user/update', { user_id: id, user_role: 'internal_user_viewer' }),
    statuses: [403, 409],
  },
  {
    name: 'loses its key',
    as: 'proxy_admin',
    lose: (admin, { key }) => admin('/key/delete', { keys: [key] }),
    statuses: [401],
  },
  {
    name: 'has its key replaced',
    as: 'proxy_admin',
    lose: (admin, { key }) => admin('/key/regenerate', { key }),
    statuses: [401],
  },
  {
    name: 'has its key limited to calls',
    as: 'proxy_admin',
    lose: (admin, { key }) => admin('/key/update', { key, allowed_routes: ['/v1/models'] }),
    statuses: [403],
  },
  {
    name: 'is removed from the team',
    as: 'team admin',
    lose: (admin, { id }) => admin('/team/member_delete', { team_id: 'red', user_id: id }),
    statuses: [409],
  },
  {
    name: 'signs out',
    as: 'proxy_admin',
    inSession: true,
    lose: async (_, { browser }) => browser!.ask('POST', '/sign-in/logout'),
    statuses: [401],
  },
  {
    name: 'is signed out everywhere',
    as: 'proxy_admin',
    inSession: true,
    lose: (admin, { id }) => admin('/sign-in/sessions/revoke-all', { user_id: id }),
    statuses: [401],
  },
  {
    name: 'gets another password',
    as: 'proxy_admin',
    inSession: true,
    lose: (admin, { id }) => admin('/sign-in/password', { user_id: id, new_password: 'quite another long one' }),
    statuses: [401],
  },
]

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    let admin: Admin
    let senders = 0
    let shared: Awaited<ReturnType<typeof backend.open>>
    /** Of all replicas; what they share is closed at the end. */
    let place: typeof shared
    beforeAll(async () => {
      shared = await backend.open()
      place = { ...shared, close: async () => {} }
      gateway = await start()
      admin = async (path, body) => {
        const answer = await gateway.admin(path, body)
        if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
        return (await answer.json()) as Json
      }
      await admin('/team/new', { team_id: 'red' })
      for (const user_id of ['victim', 'outsider']) await admin('/user/new', { user_id, auto_create_key: false })
      await admin('/team/member_add', { team_id: 'red', member: { role: 'user', user_id: 'victim' } })
    })
    afterAll(async () => {
      await gateway.stop()
      await shared.close()
    })

    const start = () =>
      startGateway({
        backend: { name: backend.name, open: async () => place },
        keyPepper: 'a pepper that all replicas of this test have',
        environment: { MODELGATE_ENCRYPTION_KEY: 'k9V2mQ7xT4bL8wR1nZ6cJ3pD5sG0hF+yA2eU7iO4tKs=' },
      })
    const newSender = async ({ as, inSession }: Scenario): Promise<Sender> => {
      const id = `sender-${++senders}`
      const user_role = as === 'proxy_admin' ? as : 'internal_user'
      const { key } = await admin('/user/new', { user_id: id, user_role })
      if (as === 'team admin')
        await admin('/team/member_add', { team_id: 'red', member: { role: 'admin', user_id: id } })
      if (!inSession) return { id, key: String(key), browser: undefined }
      await admin('/sign-in/password', { user_id: id, new_password: 'a long enough one' })
      const browser = new Browser(gateway.url)
      expect(await browser.signIn(id, 'a long enough one')).toMatchObject({ status: 200 })
      return { id, key: String(key), browser }
    }
    const credentialOf = ({ key, browser }: Sender): Headers =>
      browser
        ? { cookie: [...browser.cookies].map(pair => pair.join('=')).join('; '), origin: gateway.url }
        : { authorization: `Bearer ${key}` }
    /** Everything that an administrator sees of what was changed, beside calls. */
    const state = async (): Promise<unknown> => {
      const paths = [
        '/user/list?page_size=100',
        '/team/list',
        '/organization/list',
        '/key/list?page_size=100',
        '/budget/list',
        '/customer/list',
        '/tag/list',
        '/v1/model/info',
        '/credentials',
        '/v1/threads',
        '/v1/assistants',
      ]
      const shown = await Promise.all(paths.map(async path => (await gateway.admin(path)).json()))
      const { total } = (await (await gateway.admin('/audit?page_size=1')).json()) as { total: number }
      return { shown, total }
    }

    for (const scenario of scenarios)
      test(`while the sender ${scenario.name}`, async () => {
        const sender = await newSender(scenario)
        const credential = credentialOf(sender)
        const all = changing.map(endpoint => new HeldRequest(gateway.url, endpoint, credential))
        await until(() => all.every(({ begun }) => begun), 'the heads')
        const held = all.filter(({ isHeld }) => isHeld)
        // An administrator may ask for everything: only what needs no body is answered without it.
        const expected = scenario.as === 'proxy_admin' ? Object.keys(bodies) : ['createKey', 'deleteTeams']
        expect(held.map(({ operation }) => operation)).toEqual(expect.arrayContaining(expected))
        await scenario.lose(admin, sender)
        const before = await state()
        const calls = gateway.simulator.truth.entries.length
        const wrong: string[] = []
        for (const request of held) {
          const { status, text } = await request.release()
          if (!scenario.statuses.includes(status)) wrong.push(`${request.operation}: ${status} ${text.slice(-300)}`)
        }
        for (const request of all) request.end()
        expect(wrong).toEqual([])
        expect(await state()).toEqual(before)
        expect(gateway.simulator.truth.entries.length).toBe(calls)
      })

    test.if(backend.name !== 'SQLite')('while it is deleted at another replica', async () => {
      const other = await start()
      try {
        const sender = await newSender(scenarios[0]!)
        const endpoint = changing.find(({ doc }) => doc.operationId === 'createUser')!
        const held = new HeldRequest(gateway.url, endpoint, credentialOf(sender))
        await until(() => held.isHeld, 'the head')
        const gone = await other.admin('/user/delete', { user_ids: [sender.id] })
        expect(gone.status).toBe(200)
        // At once: within the transaction it is known, though this replica may not have heard of it yet.
        const { status } = await held.release()
        held.end()
        expect(status).toBe(401)
        expect((await gateway.admin('/user/info?user_id=planted')).status).toBe(404)
      } finally {
        await other.stop()
      }
    })

    test('while nothing happens: the same bodies do what they say', async () => {
      const credential = credentialOf(await newSender(scenarios[0]!))
      const wrong: string[] = []
      // What they delete is what the others change.
      const order = Object.keys(bodies)
      const ordered = changing
        .filter(({ doc }) => doc.operationId in bodies)
        .toSorted((one, other) => order.indexOf(one.doc.operationId) - order.indexOf(other.doc.operationId))
      for (const endpoint of ordered) {
        const request = new HeldRequest(gateway.url, endpoint, credential)
        await until(() => request.begun, 'the head')
        const { status, text } = await request.release()
        if (status !== 200) wrong.push(`${request.operation}: ${status} ${text.slice(-300)}`)
        request.end()
      }
      expect(wrong).toEqual([])
    })
  })
