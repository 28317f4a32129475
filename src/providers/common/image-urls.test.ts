/** Images by URL at every provider: passed on, or refused with one error. */
import { describe, expect, test } from 'bun:test'
import { chatRequest, targetOf } from '../../../tests/support/provider-rig.ts'
import type { Part, Source } from '../../core/hub/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { providers } from '../index.ts'

const url = 'https://images.example/cat.png?signature=secret'
const field = 'messages.0.content.1.image_url.url'
const image: Part = { type: 'image', source: { url, field } }
/** Provider and model. */
const wantBytes: readonly (readonly [string, string])[] = [
  ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ['bedrock', 'amazon.nova-pro-v1:0'],
  ['gemini', 'gemini-2.0-flash'],
  ['ollama', 'llava'],
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
    ['gemini', 'gemini-3.8-flash', url],
    ['vertex_ai', 'gemini-2.5-flash', url],
  ])('%s/%s reads %s by itself', (name, model, own) => {
    const { body } = askFor(name, model, 'chat', { type: 'image', source: { url: own } })
    expect(JSON.stringify(body)).toContain(own)
  })

  const png = { url: 'https://x.example/cat', mediaType: 'image/png' }
  test.each<[string, string, Source, object]>([
    // ai.google.dev/gemini-api/docs/file-input-methods: https alone, of some types; the type need not be said.
    ['gemini', 'gemini-2.5-flash', { url: 'https://x.example/cat.JPG?sig=1' }, { mimeType: 'image/jpeg' }],
    ['gemini', 'gemini-2.5-flash', { url: 'https://x.example/cat' }, {}],
    ['gemini', 'gemini-2.5-flash', png, { mimeType: 'image/png' }],
    ['vertex_ai', 'gemini-2.5-flash', { url: 'http://x.example/cat.webp#a' }, { mimeType: 'image/webp' }],
    ['vertex_ai', 'gemini-2.0-flash', png, { mimeType: 'image/png' }],
    [
      'vertex_ai',
      'gemini-2.5-flash',
      { url: 'https://bucket.example/a1?response-content-type=image%2Fpng&X-Amz-Signature=s' },
      { mimeType: 'image/png' },
    ],
    ['vertex_ai', 'gemini-2.5-flash', { url: 'https://cdn.example/a1?w=9&fm=jpg' }, { mimeType: 'image/jpeg' }],
  ])('%s/%s is given the address of %j with its type', (name, model, source, type) => {
    const inResult: Part = { type: 'tool-result', callId: 'a', parts: [{ type: 'image', source }] }
    for (const part of [{ type: 'image', source } as const, inResult]) {
      const call: Part = { type: 'tool-call', id: 'a', name: 'f', arguments: '{}' }
      const provider = providers.get(name)!
      const messages = [
        ...(part === inResult ? [{ role: 'assistant' as const, parts: [call] }] : []),
        { role: 'user' as const, parts: [part] },
      ]
      const { body } = provider.chat!.request(chatRequest({ messages }), targetOf(provider, { model, options }))
      const { contents } = body as { contents: { parts: { fileData?: object }[] }[] }
      expect(contents.flatMap(({ parts }) => parts).filter(one => one.fileData)).toEqual([
        { fileData: { fileUri: 'url' in source ? source.url : '', ...type } },
      ])
    }
  })

  test.each([
    ['gemini', 'gemini-2.5-flash', 'http://x.example/cat.png', 'an https:// one of a PNG, JPEG, WebP or BMP'],
    ['gemini', 'gemini-2.5-flash', 'https://x.example/cat.gif', 'an https:// one of a PNG, JPEG, WebP or BMP'],
    ['vertex_ai', 'gemini-2.5-flash', 'https://x.example/cat', '(.png, .jpg, .webp) or `format` says its type'],
  ])('%s/%s does not read %s, and says what it reads', (name, model, address, remedy) => {
    const part: Part = { type: 'image', source: { url: address, field } }
    const { param, message } = refusalOf(() => askFor(name, model, 'chat', part))
    expect(param).toBe(field)
    expect(message).toContain(remedy)
  })

  test('a document by its address, where the host fetches it', () => {
    const pdf: Part = { type: 'document', source: { url: 'https://x.example/a.pdf', field } }
    for (const name of ['gemini', 'vertex_ai'])
      expect(JSON.stringify(askFor(name, 'gemini-2.5-flash', 'chat', pdf).body)).toContain(
        '{"fileUri":"https://x.example/a.pdf","mimeType":"application/pdf"}',
      )
    const { param, message } = refusalOf(() => askFor('gemini', 'gemini-2.0-flash', 'chat', pdf))
    expect([param, message]).toEqual([
      field,
      expect.stringContaining('cannot fetch the file "https://x.example/a.pdf"'),
    ])
  })
})
