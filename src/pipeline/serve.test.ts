import { expect, test } from 'bun:test'
import { toResponse } from '../core/answer.ts'
import type { Caller } from '../core/caller.ts'
import type { ModelCall } from '../core/endpoint.ts'
import type { GatewayError } from '../core/errors.ts'
import { internalRequest, SignalClient } from '../core/internal-request.ts'
import { openaiChat } from '../formats/openai/chat/index.ts'
import { callPolicies } from './admission.ts'
import { createCallModel } from './serve.ts'
import type { ServeParts } from './serve.ts'

test('a client that leaves before it is told of its response in the background has nothing called for it', async () => {
  const ends: string[] = []
  let routed = 0
  const parts = {
    policies: callPolicies([{ name: 'ends', stage: 'body', settled: end => void ends.push(end.outcome) }]),
    clock: { monotonicMs: () => 0, epochMs: () => 0 },
    models: () => ({ settings: { headerPrefix: 'x-proxy', bodyBytesMax: 1000 } }),
    router: { run: () => void routed++ },
  } as unknown as ServeParts
  const client = new AbortController()
  const request = internalRequest({
    id: 'a',
    path: '/',
    params: {},
    query: new URLSearchParams(),
    headers: new Headers({ 'content-type': 'application/json' }),
    bytes: Buffer.from('{}'),
    client: new SignalClient(client.signal, ''),
  })
  let went: Promise<string> | undefined
  const asked = {
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
  } satisfies ModelCall as ModelCall
  const answer = await createCallModel(parts)(request, {} as Caller, asked)
  expect(toResponse(answer).status).toBeGreaterThan(400)
  expect(await went).toBe('client-closed')
  expect([ends, routed]).toEqual([['client_closed'], 0])
})
