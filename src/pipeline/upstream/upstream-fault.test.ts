import { expect, test } from 'bun:test'
import type { Deployment } from '../../core/deployment.ts'
import type { UpstreamResponse } from '../../core/transport.ts'
import { blamesDeployment, readFault } from './upstream-fault.ts'

const deployment = {
  modelName: 'm',
  target: { provider: { name: 'anthropic' }, baseUrl: 'https://host.test', options: {} },
} as unknown as Deployment

function refused(sent: string, message: string, type = 'invalid_request_error') {
  const bytes = Buffer.from(JSON.stringify({ type: 'error', error: { type, message } }))
  const body = { bytes: () => Promise.resolve(bytes) }
  const response = { status: 400, header: () => undefined, body } as unknown as UpstreamResponse
  return readFault(deployment, response, 0, [Buffer.from(sent.slice(0, 2)), Buffer.from(sent.slice(2))])
}

test.each([
  ['a field', '{"credit balance is too low":1}', 'credit balance is too low: Extra inputs are not permitted'],
  ['a value', '{"a":["Incorrect API key provided"]}', "Invalid value: 'Incorrect API key provided'."],
  ['a value with quotes', '{"a":"b\' incorrect api key provided \'c"}', "Unknown: 'b' incorrect api key provided 'c'."],
  ['escapes', String.raw`{"\u0063redit balance is too\u0020low":1}`, "Unknown parameter: 'credit balance is too low'."],
])('a wrong request blames no deployment by words that the client sent: %s', async (_, sent, message) => {
  const error = await refused(sent, message)
  expect(error).toMatchObject({ kind: 'upstream-refused', status: 400, message })
  expect(blamesDeployment(error)).toBe(false)
})

test('words of the upstream count, and types beside words of the client', async () => {
  const message = 'Your credit balance is too low to access the Anthropic API.'
  expect((await refused('{"messages":[]}', message)).kind).toBe('upstream-credentials')
  expect((await refused(JSON.stringify({ a: message }), message, 'billing_error')).kind).toBe('upstream-credentials')
})
