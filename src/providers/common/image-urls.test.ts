/** Images by URL at every provider: passed on, or refused with one error. */
import { describe, expect, test } from 'bun:test'
import { chatRequest, targetOf } from '../../../tests/support/provider-rig.ts'
import type { Part } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { providers } from '../index.ts'

const url = 'https://images.example/cat.png?signature=secret'
const field = 'messages.0.content.1.image_url.url'
const image: Part = { type: 'image', source: { url, field } }
/** Provider and model. */
const wantBytes: readonly (readonly [string, string])[] = [
  ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ['bedrock', 'amazon.nova-pro-v1:0'],
  ['gemini', 'gemini-2.5-flash'],
  ['ollama', 'llava'],
  ['vertex_ai', 'gemini-2.5-flash'],
  ['vertex_ai', 'claude-sonnet-4-5@20250929'],
]
const takeUrls = [...providers.values()]
  .filter(({ name, chat }) => chat && !wantBytes.some(([one]) => one === name))
  .map(({ name }) => name)
const options = { vertex_project: 'p', vertex_location: 'us-east5', aws_region_name: 'us-east-1', project: 'p' }

function askFor(name: string, model: string, operation: 'chat' | 'countTokens', part: Part) {
  const provider = providers.get(name)!
  const target = targetOf(provider, { model, options })
  const messages = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'what is it?' }, part] }]
  return provider[operation]!.request(chatRequest({ messages }), target)
}

function refusalOf(call: () => unknown): GatewayError {
  try {
    call()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('not refused')
}

describe('an image by URL', () => {
  const result: Part = { type: 'tool-result', callId: 'a', parts: [image] }

  test.each(wantBytes)('%s/%s wants bytes: refused with the part, the upstream and the remedy', (name, model) => {
    const operations = ['chat', 'countTokens'] as const
    for (const operation of operations.filter(one => providers.get(name)![one]))
      for (const part of [image, result]) {
        const { status, param, message } = refusalOf(() => askFor(name, model, operation, part))
        expect({ status, param }).toEqual({ status: 400, param: field })
        expect(message).toStartWith(`${field}: ${name} does not fetch the image "https://images.example/cat.png"; `)
        expect(message).not.toContain('secret')
        for (const remedy of ['data: URL', '/v1/files', 'vendor that takes URLs']) expect(message).toContain(remedy)
      }
  })

  test.each(takeUrls)('%s gets the URL as it is', name => {
    expect(JSON.stringify(askFor(name, 'up-model', 'chat', image).body)).toContain(url)
  })

  test.each([
    ['bedrock', 'amazon.nova-pro-v1:0', 's3://bucket/cat.png'],
    ['gemini', 'gemini-2.5-flash', 'https://generativelanguage.googleapis.com/v1beta/files/abc'],
    ['vertex_ai', 'gemini-2.5-flash', 'gs://bucket/cat.png'],
  ])('%s/%s reads %s by itself', (name, model, own) => {
    const { body } = askFor(name, model, 'chat', { type: 'image', source: { url: own } })
    expect(JSON.stringify(body)).toContain(own)
  })
})
