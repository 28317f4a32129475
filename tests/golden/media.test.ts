/** Media in a field for another kind, from each dialect to each upstream: the part of its type, or a 422 with its field. */
import { describe, expect, test } from 'bun:test'
import { mediaTypeOfData } from '../../src/core/hub/media-parts.ts'
import { GatewayError } from '../../src/core/errors.ts'
import type { ChatFormat } from '../../src/core/format.ts'
import { anthropicMessages } from '../../src/formats/anthropic/index.ts'
import { geminiGenerate } from '../../src/formats/gemini/index.ts'
import { openaiChat } from '../../src/formats/openai/chat/index.ts'
import { openaiResponses } from '../../src/formats/openai/responses/index.ts'
import { providers } from '../../src/providers/index.ts'
import { targetOf } from '../support/provider-rig.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'

const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64')
const office = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
/** Real beginnings; of the document also the name of a file in it. */
const media = {
  picture: { type: 'image/png', data: base64('\x89PNG\r\n\x1a\n\0\0\0\rIHDR') },
  sound: { type: 'audio/wav', data: base64('RIFF\x24\0\0\0WAVEfmt ') },
  pdf: { type: 'application/pdf', data: base64('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n') },
  text: { type: 'text/csv', data: base64('a,b\n1,2\n') },
  word: { type: office, data: base64('PK\x03\x04\x14\0\x06\0\x08\0....word/document.xml') },
}
type Kind = keyof typeof media

const url = ({ type, data }: { type: string; data: string }) => `data:${type};base64,${data}`
const chat = (part: object) => ({ messages: [{ role: 'user', content: [part] }] })
const item = (part: object) => ({ input: [{ role: 'user', content: [part] }] })
const source = ({ type, data }: { type: string; data: string }) => ({ type: 'base64', media_type: type, data })

/** The fields of each dialect, with anything in them. */
const fields: [string, ChatFormat, (one: { type: string; data: string }) => object, string][] = [
  ['chat image_url', openaiChat, one => chat({ type: 'image_url', image_url: { url: url(one) } }), 'image_url.url'],
  ['chat image_url as a text', openaiChat, one => chat({ type: 'image_url', image_url: url(one) }), 'image_url'],
  ['chat file', openaiChat, one => chat({ type: 'file', file: { file_data: url(one) } }), 'file.file_data'],
  [
    'chat file of bare base64',
    openaiChat,
    one => chat({ type: 'file', file: { file_data: one.data, format: one.type } }),
    'file.file_data',
  ],
  ['responses input_image', openaiResponses, one => item({ type: 'input_image', image_url: url(one) }), 'image_url'],
  ['responses input_file', openaiResponses, one => item({ type: 'input_file', file_data: url(one) }), 'file_data'],
  ['messages image', anthropicMessages, one => chat({ type: 'image', source: source(one) }), 'source.data'],
  ['messages document', anthropicMessages, one => chat({ type: 'document', source: source(one) }), 'source.data'],
  [
    'gemini inlineData',
    geminiGenerate,
    one => ({ contents: [{ role: 'user', parts: [{ inlineData: { mimeType: one.type, data: one.data } }] }] }),
    'inlineData',
  ],
]

/** What the JSON of the body has for each kind; undefined = the API has no such part. */
const upstreams: [string, string, Partial<Record<Kind, string>>][] = [
  [
    'openai',
    'gpt-5',
    {
      picture: '"type":"image_url"',
      sound: '"type":"input_audio","input_audio":{"data":"UklGR',
      pdf: '"type":"file"',
      text: '"type":"file"',
      word: '"type":"file"',
    },
  ],
  [
    'anthropic',
    'claude-sonnet-4-5',
    {
      picture: '"type":"image","source":{"type":"base64","media_type":"image/png"',
      pdf: '"type":"document","source":{"type":"base64","media_type":"application/pdf"',
      text: '"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b',
    },
  ],
  [
    'gemini',
    'gemini-2.5-pro',
    {
      picture: '"mimeType":"image/png"',
      sound: '"mimeType":"audio/wav"',
      pdf: '"mimeType":"application/pdf"',
      text: '"mimeType":"text/csv"',
    },
  ],
  [
    'bedrock',
    'amazon.nova-pro-v1:0',
    {
      picture: '"image":{"format":"png"',
      sound: '"audio":{"format":"wav"',
      pdf: '"document":{"format":"pdf"',
      text: '"document":{"format":"csv"',
      word: '"document":{"format":"docx"',
    },
  ],
  [
    'mistral',
    'mistral-large-latest',
    {
      picture: '"type":"image_url"',
      sound: '"type":"input_audio"',
      pdf: '"type":"document_url"',
      text: 'a,b',
      word: '"type":"document_url"',
    },
  ],
  ['ollama', 'llama3.2-vision', { picture: '"images":["iVBOR', text: 'a,b' }],
  ['cohere', 'command-a-vision-07-2025', { picture: '"type":"image_url"', text: '"data":{"text":"a,b' }],
]

function sentBy(provider: string, model: string, request: ReturnType<ChatFormat['decode']>): string {
  const one = providers.get(provider)!
  const target = targetOf(one, { model, options: provider === 'bedrock' ? { aws_region_name: 'us-east-1' } : {} })
  return JSON.stringify(one.chat!.request(request, target).body)
}

describe.each(upstreams)('%s', (provider, model, parts) => {
  test.each(fields)('%s', (name, format, written, field) => {
    for (const [kind, one] of Object.entries(media)) {
      const decode = () =>
        format.decode(JsonBody.read(Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, ...written(one) }))))
      const expected = parts[kind as Kind]
      if (expected !== undefined) {
        expect([kind, sentBy(provider, model, decode())]).toEqual([kind, expect.stringContaining(expected) as string])
        continue
      }
      let refused: unknown
      try {
        sentBy(provider, model, decode())
      } catch (error) {
        refused = error
      }
      expect([kind, refused]).toEqual([kind, expect.any(GatewayError)])
      const { kind: fault, message, param } = refused as GatewayError
      expect([kind, fault, message]).toEqual([kind, 'unprocessable', expect.stringContaining('; send ') as string])
      expect(message).toContain(one.type)
      // Only what stands in a field for another kind names the field: of the rest the type says enough.
      const isOfField =
        format === geminiGenerate ||
        (field.includes('image') || name.endsWith('image') ? 'picture' : 'document') ===
          (kind === 'picture' || kind === 'sound' ? kind : 'document')
      if (isOfField) expect(param).toBe('messages')
      else expect(param).toEndWith(`.0.content.0.${field}`)
    }
  })
})

test.each([
  ['image/png', media.picture.data, 'image/png'],
  ['image/jpeg', media.picture.data, 'image/png'],
  ['application/octet-stream', media.picture.data, 'image/png'],
  ['application/pdf', media.picture.data, 'image/png'],
  ['image/png', media.pdf.data, 'application/pdf'],
  ['text/plain', media.pdf.data, 'application/pdf'],
  ['image/png', media.word.data, office],
  ['image/png', base64('PK\x03\x04....'), 'application/zip'],
  [office, media.word.data, office],
  ['audio/x-wav', media.sound.data, 'audio/x-wav'],
  ['text/plain', base64('GIF8 is how a picture begins, and ID3 a song'), 'text/plain'],
  ['application/json', base64('GIF8'), 'application/json'],
  ['text/plain', base64(`OggS${'\xc3\xa9'.repeat(20)}`), 'text/plain'],
  ['text/markdown; charset=utf-8', base64('RIFF'), 'text/markdown; charset=utf-8'],
  ['image/png', '', 'image/png'],
])('%s with other bytes: %#', (declared, data, type) => {
  expect(mediaTypeOfData(declared, data)).toBe(type)
})
