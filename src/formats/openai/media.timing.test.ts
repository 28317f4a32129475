import { describe, expect, test } from 'bun:test'
import { JsonBody } from '../../lib/json/json-body.ts'
import { openaiSpeech } from './speech.ts'

const bodyOf = (fields: object) => JsonBody.read(Buffer.from(JSON.stringify(fields)))

const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))

describe('speech', () => {
  const relay = () => openaiSpeech.forward.relay('m', bodyOf({}), 'text/event-stream; charset=utf-8')

  test('a giant event is not copied once a piece', () => {
    const fromMs = performance.now()
    const made = relay()
    for (let at = 0; at < 3000; at++) made.push(bytes(`data: ${'x'.repeat(10_000)}\n`))
    expect(made.failure).toBeUndefined()
    for (let at = 0; at < 4000 && !made.failure; at++) made.push(bytes(`data: ${'x'.repeat(10_000)}\n`))
    expect(made.failure?.kind).toBe('upstream-broken')
    expect(performance.now() - fromMs).toBeLessThan(1000)
  })
})
