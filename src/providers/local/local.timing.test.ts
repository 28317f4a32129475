import { classify } from '../../core/dialects/classify.ts'
import { expect, test } from 'bun:test'
import type { InProcessAnswer, InProcessFile } from '../../core/provider.ts'
import { local } from './index.ts'

const ask = (operation: string, body: object, files: InProcessFile[] = []): InProcessAnswer =>
  local.answer!({ url: `local:${operation}`, headers: {} }, body, files)

const bytesOf = ({ pieces }: InProcessAnswer) => Buffer.concat(pieces.map(piece => Buffer.from(piece as Uint8Array)))

const textOf = (answer: InProcessAnswer) => bytesOf(answer).toString('utf8')

const jsonOf = (answer: InProcessAnswer): any => JSON.parse(textOf(answer))

/** The error of a refused call, after checking that it came at once. */
function refusal(operation: string, body: object): { message: string; param: string } {
  const fromMs = performance.now()
  const answer = ask(operation, body)
  expect(performance.now() - fromMs).toBeLessThan(500)
  expect([answer.status, answer.contentType]).toEqual([400, 'application/json'])
  expect(classify({ host: 'local', status: 400, body: jsonOf(answer) })).toMatchObject({
    kind: 'upstream-refused',
    message: jsonOf(answer).error.message,
  })
  return jsonOf(answer).error
}

test('a prompt of 30 MB is answered in little time', () => {
  const fromMs = performance.now()
  const { usage } = jsonOf(
    ask('chat', { messages: [{ role: 'user', content: 'word '.repeat(6_000_000) }], max_tokens: 1e12 }),
  )
  expect(performance.now() - fromMs).toBeLessThan(2000)
  expect(usage.prompt_tokens).toBeGreaterThan(5_000_000)
})

test('other formats are refused, never faked; long texts stay small', () => {
  for (const response_format of ['mp3', 'opus', 'aac', 'flac'])
    expect(refusal('speech', { input: 'a', response_format }).message).toContain('wav and pcm')
  expect(refusal('speech', { input: 'x'.repeat(4097) }).param).toBe('input')
  const fromMs = performance.now()
  expect(bytesOf(ask('speech', { input: 'x'.repeat(4096), speed: 0.25 })).length).toBeLessThan(3_000_000)
  expect(performance.now() - fromMs).toBeLessThan(1500)
})
