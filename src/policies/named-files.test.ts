/**
 * Which deployments can be given the files of a call, with a store and upstreams that only note what they are asked.
 */
import { expect, test } from 'bun:test'
import { targetOf } from '../../tests/support/provider-rig.ts'
import type { Call } from '../core/call.ts'
import { nativeProfile } from '../core/deployment.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError } from '../core/errors.ts'
import type { FileRecord } from '../core/objects/file-records.ts'
import { newId } from '../files/objects.ts'
import { openaiChat } from '../formats/openai/chat/index.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { Secret } from '../lib/secret.ts'
import { providers } from '../providers/index.ts'
import { namedFiles } from './named-files.ts'

const deploymentOf = (id: string, account: string, provider = 'openai'): Deployment =>
  ({
    id,
    modelName: `model-${id}`,
    profile: nativeProfile,
    target: targetOf(providers.get(provider)!, { model: id, baseUrl: 'http://up/v1', apiKey: new Secret(account) }),
  }) as Deployment
const [home, twin, far] = [
  deploymentOf('home', 'account-1'),
  deploymentOf('twin', 'account-1'),
  deploymentOf('far', 'account-2'),
]

interface Options {
  readonly content?: () => Promise<Uint8Array>
  readonly records?: Partial<FileRecord>[]
  readonly bodyBytesMax?: number
  readonly role?: 'proxy_admin' | 'key'
  /** The only models that the key may use; absent = all. */
  readonly models?: readonly string[]
}

/** A call that names the files, each in a message of its own. */
function rig(
  ids: readonly string[],
  candidates: readonly Deployment[],
  { content, records, bodyBytesMax = 1e8, role = 'key', models = [] }: Options = {},
) {
  const asked: (string | null)[] = []
  const fetched: string[] = []
  const known = new Map(
    (records ?? ids.map(id => ({ id }))).map(record => [
      record.id,
      { upstreamId: `up-${record.id}`, deploymentId: 'home', filename: 'a.txt', bytes: 3, ...record } as FileRecord,
    ]),
  )
  const body = JsonBody.read(
    Buffer.from(
      JSON.stringify({
        model: 'm',
        messages: ids.map(id => ({ role: 'user', content: [{ type: 'file', file: { file_id: id } }] })),
      }),
    ),
  )
  let nowMs = 0
  let waitedMs = 0
  const call = {
    operation: 'chat',
    model: 'm',
    body,
    candidates,
    waitedForUpstream: (ms: number) => void (waitedMs += ms),
    caller: { role, key: { id: 'key-1', models } },
    client: {},
    format: openaiChat,
    models: { settings: { deployments: [home, twin, far], bodyBytesMax, accessGroups: {}, aliases: {} } },
  } as unknown as Call
  const { admit } = namedFiles({
    files: { find: async (_kind, id, owner) => (asked.push(owner), known.get(id)) },
    fileCalls: {
      bytes: async ({ path, deployment }) => (
        fetched.push(`${deployment.id} ${path}`), (nowMs += 5), content ? content() : Buffer.from('abc')
      ),
    },
    clock: { epochMs: () => 0, monotonicMs: () => nowMs },
  })
  const place = () => admit!(call) as Promise<void> | undefined
  return {
    call,
    asked,
    fetched,
    placed: async () => (await place(), call),
    place,
    waitedMs: () => waitedMs,
  }
}
const failing = (kind: ConstructorParameters<typeof GatewayError>[0], message = 'no') => ({
  content: () => Promise.reject(new GatewayError(kind, message)),
})
const messageOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: GatewayError) => `${error.kind} ${error.message}`,
  )

test('a call that names nothing costs no promise', () => {
  const { call, place } = rig([], [home])
  expect(place()).toBeUndefined()
  expect(rig(['file-6F2ksmvXxt4VdoqmHRw6kL'], [home]).place()).toBeUndefined()
  expect(call.namedFiles).toBeUndefined()
})

test('all that share the account of the file are candidates, and only they', async () => {
  const id = newId('file')
  const { call, fetched, asked, placed } = rig([id], [far, twin, home])
  await placed()
  expect([call.candidates, fetched, asked]).toEqual([[twin, home], [], ['key-1']])
  for (const one of [twin, home])
    expect(JSON.parse(Buffer.from(call.namedFiles!.bodyFor(one).bytes).toString()).messages[0].content[0].file).toEqual(
      { file_id: `up-${id}` },
    )
  expect(call.namedFiles!.bodyFor(home)).toBe(call.namedFiles!.bodyFor(home))
  expect([...call.namedFiles!.localIds]).toEqual([[`up-${id}`, id]])
  expect(() => call.namedFiles!.bodyFor(far)).toThrow('was not fetched')
  const admin = rig([id], [home], { role: 'proxy_admin' })
  await admin.placed()
  expect(admin.asked).toEqual([null])
})

test('files of two upstreams: the ids that are known stay ids, the rest travels; each is fetched once', async () => {
  const [one, two] = [newId('file'), newId('file')]
  const { call, fetched, placed, waitedMs } = rig([one, two, two], [far, home], {
    records: [{ id: one }, { id: two, deploymentId: 'far' }],
  })
  await placed()
  expect(call.candidates).toEqual([far, home])
  expect(fetched).toEqual([`home /files/up-${one}/content`, `far /files/up-${two}/content`])
  expect(waitedMs()).toBe(10)
  const files = (deployment: Deployment) =>
    JSON.parse(Buffer.from(call.namedFiles!.bodyFor(deployment).bytes).toString()).messages.map(
      (message: any) => message.content[0].file,
    )
  const data = { filename: 'a.txt', file_data: 'data:text/plain;base64,YWJj' }
  expect(files(home)).toEqual([{ file_id: `up-${one}` }, data, data])
  expect(files(far)).toEqual([data, { file_id: `up-${two}` }, { file_id: `up-${two}` }])
})

test('what cannot be had says why, with the field', async () => {
  const id = newId('file')
  const field = 'messages.0.content.0.file.file_id'
  const said = (options: Options, ids = [id]) => messageOf(rig(ids, [far], options).placed())
  expect(await said({ records: [] })).toStartWith(`unprocessable ${field}: this key has no file '${id}'`)
  expect(await said({ records: [{ id, deploymentId: 'removed' }] })).toContain(
    "is kept by an upstream that is no longer in the gateway's configuration; upload it again, or send its content as `file_data`",
  )
  expect(await said(failing('model-not-found'))).toContain('is gone at the upstream that kept it; upload it again')
  expect(await said(failing('upstream-credentials', 'secret words'))).toMatch(
    /^unprocessable .*its content is not handed out there; upload it with `model`: 'm', or call 'model-home', or send its content as `file_data`$/,
  )
  expect(await said(failing('upstream-overloaded', `no up-${id}`))).toBe(
    `upstream-overloaded ${field}: the file '${id}' cannot be fetched from the upstream that keeps it: no ${id}`,
  )
  expect(await said(failing('client-closed'))).toBe('client-closed no')
  const large = { records: [{ id, bytes: 9e6 }] }
  expect(await said(large, [id, id])).toContain(
    '18000000 bytes of files cannot travel with a call: at most 16777216 can',
  )
  expect(await said({ bodyBytesMax: 1000 })).toBe('no error')
  expect(await said({ bodyBytesMax: 1000, content: async () => Buffer.alloc(800) })).toContain(
    '800 bytes of files cannot travel',
  )
  const many = Array.from({ length: 101 }, () => newId('file'))
  expect(await said({}, many)).toContain('messages.100.content.0.file.file_id: is one of 101 uploaded files')
})

test('nothing of a file that is too large is fetched, and a refusal is asked for once', async () => {
  const id = newId('file')
  const large = rig([id], [far, deploymentOf('claude', 'account-3', 'anthropic')], { records: [{ id, bytes: 2e7 }] })
  expect(await messageOf(large.placed())).toContain('unprocessable')
  expect([large.fetched, large.call.namedFiles]).toEqual([[], undefined])
  const refused = rig([id], [far, deploymentOf('claude', 'account-3', 'anthropic')], failing('upstream-refused'))
  expect(await messageOf(refused.placed())).toContain('unprocessable')
  expect(refused.fetched.length).toBe(1)
})

test('the content travels in one body for each deployment; a client that leaves ends the fetching', async () => {
  const [one, two] = [newId('file'), newId('file')]
  const given: Uint8Array[] = []
  const content = async () => given[given.push(new Uint8Array(1_000_000).fill(65)) - 1]!
  const claude = deploymentOf('claude', 'account-3', 'anthropic')
  const { call, placed } = rig([one, two], [far, claude], { content })
  await placed()
  const bodies = [far, claude].map(deployment => call.namedFiles!.bodyFor(deployment))
  expect(call.namedFiles!.bodyFor(far)).toBe(bodies[0]!)
  for (const { bytes } of bodies)
    expect(JSON.stringify(JSON.parse(Buffer.from(bytes).toString()))).toContain(
      `base64,${Buffer.alloc(1_000_000, 65).toString('base64')}"`,
    )
  expect(given.map(bytes => bytes.length)).toEqual([1_000_000, 1_000_000])
  given.length = 0
  const left: ReturnType<typeof rig> = rig([one, two], [far], {
    content: async () => {
      ;(left.call.client as { left: boolean }).left = true
      return content()
    },
  })
  expect(await messageOf(left.placed())).toStartWith('client-closed')
  expect(given.length).toBe(1)
  expect(left.call.namedFiles).toBeUndefined()
})

test('the model that keeps a file is only named to callers who may use it', async () => {
  const id = newId('file')
  const said = (models: string[], candidates = [far]) =>
    messageOf(rig([id], candidates, { ...failing('upstream-credentials'), models }).placed())
  expect(await said([])).toContain(
    "is kept by the upstream of the model 'model-home' (openai), not by that of 'm', and",
  )
  const hidden = await said(['model-far'])
  expect(hidden).toContain(
    `the file '${id}' is kept by another upstream (openai) than that of 'm', and its content is not handed out there; upload it with \`model\`: 'm', or send its content as \`file_data\``,
  )
  expect(hidden).not.toContain('model-home')
})

test('contents that travel with a call take memory before they are fetched, each once; without room none is', async () => {
  const [one, two] = [newId('file'), newId('file')]
  const records = [
    { id: one, bytes: 300 },
    { id: two, bytes: 30 },
  ]
  const { call, fetched, placed } = rig([one, two, one], [far], { records })
  const held: number[] = []
  Object.assign(call, { memory: { hold: (bytes: number) => held.push(bytes) } })
  await placed()
  // The bytes, and their base64.
  expect(held).toEqual([700, 70])
  expect(fetched.length).toBe(2)
  const full = rig([one], [far], { records })
  const hold = (): never => {
    throw new GatewayError('overloaded', 'no room')
  }
  Object.assign(full.call, { memory: { hold } })
  expect(await messageOf(full.placed())).toBe('overloaded no room')
  expect(full.fetched).toEqual([])
})
