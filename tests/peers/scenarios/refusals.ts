/** Calls of models that are refused: by the gateway, and by what is behind it. */
import type { Ask, Gateway } from '../answer.ts'
import { askedWithKey, chat } from './scenario.ts'
import type { Scenario } from './scenario.ts'

const bodies: readonly Scenario[] = [
  askedWithKey(
    'refused: no model',
    {},
    { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'a' }] } },
  ),
  askedWithKey('refused: unknown model', {}, chat({ model: 'no-such-model' })),
  askedWithKey('refused: unknown model, streamed', {}, chat({ model: 'no-such-model', stream: true })),
  askedWithKey('refused: no messages', {}, { path: '/v1/chat/completions', body: { model: 'gpt-4o' } }),
  askedWithKey('refused: empty messages', {}, chat({ messages: [] })),
  askedWithKey('refused: messages of a wrong type', {}, chat({ messages: 'hello' })),
  askedWithKey('refused: a role that there is not', {}, chat({ messages: [{ role: 'wizard', content: 'a' }] })),
  askedWithKey('refused: temperature of a wrong type', {}, chat({ temperature: 'hot' })),
  askedWithKey('refused: temperature out of range', {}, chat({ temperature: 9 })),
  askedWithKey('refused: stream of a wrong type', {}, chat({ stream: 'yes' })),
  askedWithKey('refused: tools without names', {}, chat({ tools: [{ type: 'function', function: {} }] })),
  askedWithKey('refused: body that is no JSON', {}, { path: '/v1/chat/completions', body: '{"model": ' }),
  askedWithKey('refused: body that is a list', {}, { path: '/v1/chat/completions', body: '[]' }),
  askedWithKey('refused: empty body', {}, { path: '/v1/chat/completions', method: 'POST', body: '' }),
  askedWithKey('refused: field of another model', {}, chat({ model: 'claude', logit_bias: { 1: 1 } })),
  askedWithKey('refused: embeddings without a model', {}, { path: '/v1/embeddings', body: { input: 'a' } }),
  askedWithKey(
    'refused: embeddings of an unknown model',
    {},
    { path: '/v1/embeddings', body: { model: 'no', input: 'a' } },
  ),
  askedWithKey(
    'refused: messages of an unknown model',
    {},
    {
      path: '/v1/messages',
      body: { model: 'no-such-model', max_tokens: 5, messages: [{ role: 'user', content: 'a' }] },
    },
  ),
  askedWithKey(
    'refused: messages without max_tokens',
    {},
    {
      path: '/v1/messages',
      body: { model: 'claude', messages: [{ role: 'user', content: 'a' }] },
    },
  ),
  askedWithKey(
    'refused: responses of an unknown model',
    {},
    { path: '/v1/responses', body: { model: 'no', input: 'a' } },
  ),
  askedWithKey('refused: transcription without a file', {}, { path: '/v1/audio/transcriptions', body: new FormData() }),
  askedWithKey('refused: unknown path', {}, { path: '/v1/no-such-path' }),
  askedWithKey('refused: wrong method', {}, { path: '/v1/chat/completions', method: 'DELETE' }),
]

const upstreams: readonly Scenario[] = [
  ['limited', 'its rate limit'],
  ['refused', 'a key that it refuses'],
  ['invalid', 'a request that it refuses'],
  ['absent', 'a model that it lacks'],
  ['failing', 'its failure'],
  ['too-long', 'a context that is too long'],
  ['filtered', 'its filter'],
  ['slow', 'a timeout'],
].flatMap(([model, what]) => [
  askedWithKey(`upstream: ${what}`, {}, chat({ model })),
  askedWithKey(`upstream: ${what}, streamed`, {}, chat({ model, stream: true })),
])

const withKey = (name: string, key: (gateway: Gateway) => Promise<string | null>, ask: Ask = chat()): Scenario => ({
  name,
  // Also unknown keys are looked up there.
  needsDatabase: !name.startsWith('key: none'),
  run: async gateway => gateway.ask({ ...ask, key: await key(gateway) }),
})

/** A key that has used up what it may, by one call. */
async function spent(gateway: Gateway, fields: object, isSpent: (info: Record<string, unknown>) => boolean) {
  const key = await gateway.key(fields)
  // A gateway that reserves refuses already this one.
  const { status } = await gateway.ask({ ...chat(), key })
  if (status >= 400) return key
  await gateway.until({ path: `/key/info?key=${key}` }, ({ body }) =>
    isSpent((body as { info: Record<string, unknown> }).info),
  )
  return key
}

const keys: readonly Scenario[] = [
  withKey('key: none', async () => null),
  withKey('key: unknown', async () => 'sk-no-such-key-00000000000000000000'),
  withKey('key: of another form', async () => 'hello'),
  withKey('key: expired', async gateway => {
    const key = await gateway.key({ duration: '1s' })
    await Bun.sleep(1500)
    return key
  }),
  withKey('key: blocked', async gateway => {
    const key = await gateway.key()
    await gateway.step({ path: '/key/block', body: { key } })
    return key
  }),
  withKey('key: deleted', async gateway => {
    const key = await gateway.key()
    await gateway.step({ path: '/key/delete', body: { keys: [key] } })
    return key
  }),
  withKey('key: without the model', gateway => gateway.key({ models: ['embed'] })),
  withKey('key: over its budget', gateway =>
    spent(gateway, { max_budget: 0.000001 }, info => Number(info.spend) > 0.000001),
  ),
  withKey('key: over its requests', async gateway => {
    const key = await gateway.key({ rpm_limit: 1 })
    await gateway.step({ ...chat(), key })
    return key
  }),
  withKey(
    'key: over its requests, streamed',
    async gateway => {
      const key = await gateway.key({ rpm_limit: 1 })
      await gateway.step({ ...chat(), key })
      return key
    },
    chat({ stream: true }),
  ),
  withKey('key: of a team without the model', async gateway => {
    const { team_id } = await gateway.step({ path: '/team/new', body: { models: ['embed'] } })
    return gateway.key({ team_id })
  }),
  withKey('key: of a blocked team', async gateway => {
    const { team_id } = await gateway.step({ path: '/team/new', body: {} })
    const key = await gateway.key({ team_id })
    await gateway.step({ path: '/team/block', body: { team_id } })
    return key
  }),
  withKey('key: none, for models', async () => null, { path: '/v1/models' }),
  withKey('key: none, for keys', async () => null, { path: '/key/list' }),
  withKey('key: virtual, for what administrators may', gateway => gateway.key(), { path: '/user/list' }),
  withKey('key: virtual, makes a key', gateway => gateway.key(), { path: '/key/generate', body: {} }),
  withKey('key: none, for messages', async () => null, { path: '/v1/messages', body: { model: 'claude' } }),
]

/** All of them. */
export const refusalScenarios: readonly Scenario[] = [...bodies, ...upstreams, ...keys]
