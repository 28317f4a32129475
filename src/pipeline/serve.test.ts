import { expect, test } from 'bun:test'
import type { Caller } from '../core/caller.ts'
import type { ModelCall } from '../core/endpoint.ts'
import { GatewayError } from '../core/errors.ts'
import { internalRequest, SignalClient } from '../core/internal-request.ts'
import type { Policy } from '../core/policy.ts'
import { openaiChat } from '../formats/openai/chat/index.ts'
import { callPolicies } from './admission/admission.ts'
import { createCallModel } from './serve.ts'
import type { ServeParts } from './serve.ts'
import { sharedByAll } from '../../tests/support/model-directory.ts'

function requestOf(client: AbortSignal) {
  return internalRequest({
    id: 'a',
    path: '/',
    params: {},
    query: new URLSearchParams(),
    headers: new Headers({ 'content-type': 'application/json' }),
    bytes: Buffer.from('{}'),
    client: new SignalClient(client, ''),
  })
}

function partsWith(own: Partial<Policy>, run: ServeParts['router']['run']) {
  const ends: string[] = []
  const parts = {
    policies: callPolicies([{ name: 'own', stage: 'body', ...own, settled: end => void ends.push(end.outcome) }]),
    clock: { monotonicMs: () => 0, epochMs: () => 0 },
    current: { models: sharedByAll({ settings: { headerPrefix: 'x-proxy', bodyBytesMax: 1000 } }) },
    router: { run },
  } as unknown as ServeParts
  return { ends, parts }
}

test('a client that leaves before it is sent its response in the background has nothing called for it', async () => {
  let routed = 0
  const { ends, parts } = partsWith({}, () => void routed++)
  const client = new AbortController()
  let went: Promise<string> | undefined
  const asked: ModelCall = {
    format: openaiChat,
    route: '/',
    async detach(_, run) {
      // Its record is being saved.
      await Bun.sleep(1)
      client.abort()
      went = run(new SignalClient(new AbortController().signal, '')).then(
        () => 'went on',
        (error: GatewayError) => error.kind,
      )
      return { status: 200, headers: {}, body: null }
    },
  }
  const answer = await createCallModel(parts)(requestOf(client.signal), {} as Caller, asked)
  expect(answer.status).toBe(499)
  expect(await went).toBe('client-closed')
  expect([ends, routed]).toEqual([['client_closed'], 0])
})

test('a policy that fails while it replaces an error leaves no call open', async () => {
  const failed = (): never => {
    throw new TypeError('broken')
  }
  const { ends, parts } = partsWith({ failed }, ({ call }, taker) => {
    call.progress.attempts = 1
    taker.failed(new GatewayError('upstream-failed', 'no'))
  })
  const request = requestOf(new AbortController().signal)
  const answer = await createCallModel(parts)(request, {} as Caller, { format: openaiChat, route: '/' })
  expect([answer.status, ends]).toEqual([500, ['error']])
})
