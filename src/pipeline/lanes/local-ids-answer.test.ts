/** An upstream's own ids of files never reach a client, in any part of an answer. */
import { describe, expect, test } from 'bun:test'
import type { ChatRequest } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import type { StreamRelay } from '../../core/format.ts'
import { openaiChat } from '../../formats/openai/chat/index.ts'
import { openaiResponses } from '../../formats/openai/responses/index.ts'
import { JsonBody } from '../../lib/json/json-body.ts'
import { providers } from '../../providers/index.ts'
import type { PlannedAttempt } from './attempt-parts.ts'
import { withLocalAnswer } from './local-ids-answer.ts'
import { TranslatedRelay } from './translate.ts'

const [theirs, ours] = ['file-theirs-0123456789', 'file-ours-9876543210']
const ids = new Map([[theirs, ours]])
const request: ChatRequest = {
  model: 'm',
  messages: [],
  stream: true,
  includeUsage: false,
  extra: { format: 'openai-responses', fields: {} },
}
const textOf = (output: Uint8Array | string): string => Buffer.from(output as string).toString()

function local(relay: StreamRelay, answer = ''): PlannedAttempt {
  const attempt: PlannedAttempt = {
    head: { url: '', headers: {} },
    body: [],
    streamTypes: [],
    dropped: [],
    relay: () => relay,
    answer: () => ({ body: Buffer.from(answer), usage: undefined }),
  }
  return withLocalAnswer(attempt, ids)
}

const forwarded = (): StreamRelay =>
  openaiChat.forward.relay('m', JsonBody.read(Buffer.from('{"model":"m","stream":true,"messages":[]}')))
const translated = (): StreamRelay =>
  new TranslatedRelay({ adapter: providers.get('gemini')!.chat!, format: openaiResponses, request, publicModel: 'm' })

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] })}`
const gemini = (text: string): string =>
  `data: ${JSON.stringify({ responseId: 'r', candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }] })}\n\n`

describe('in a stream', () => {
  test('in its events', () => {
    const out = textOf(
      local(forwarded())
        .relay('')
        .push(Buffer.from(`${chunk(`see ${theirs} ✓`)}\n\n`)),
    )
    expect(out).toContain(`see ${ours} ✓`)
    expect(out).not.toContain(theirs)
  })

  test('in a last event that only the end of the bytes completes', () => {
    const relay = local(forwarded()).relay('')
    expect(relay.push(Buffer.from(chunk(`see ${theirs} ✓`)))).toHaveLength(0)
    const last = textOf(relay.end())
    expect(last).toContain(`see ${ours} ✓`)
    expect(last).toEndWith('data: [DONE]\n\n')
    expect(last).not.toContain(theirs)
  })

  test('in the whole answer that a translated stream repeats at its end', () => {
    const relay = local(translated()).relay('')
    relay.push(Buffer.from(gemini(`see ${theirs}`)))
    const last = textOf(relay.end())
    expect(last).toContain('response.completed')
    expect(last).toContain(`see ${ours}`)
    expect(last).not.toContain(theirs)
    expect([relay.terminated, relay.complete, relay.failure]).toEqual([true, true, undefined])
  })

  test('in the event of an error', () => {
    const event = local(forwarded())
      .relay('')
      .errorEvent(new GatewayError('upstream-failed', `no file ${theirs}`))
    expect(event).toContain(`no file ${ours}`)
    expect(event).not.toContain(theirs)
  })
})

test('in a whole answer; every other byte stays what it was', () => {
  const { body } = local(forwarded(), `{"a":"é😀 ${theirs}"}`).answer(new Uint8Array(), { header: () => undefined })
  expect(textOf(body)).toBe(`{"a":"é😀 ${ours}"}`)
})
