/**
 * Guardrails on files whose texts are not there as UTF-8: other encodings, packed ones, PDF, and those that nothing
 * reads.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { startGateway } from '../e2e/harness.ts'
import type { Gateway } from '../e2e/harness.ts'

let gateway: Gateway
const keys: Record<string, string> = {}

beforeAll(async () => {
  gateway = await startGateway({
    config: `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/up, api_base: "{simulator}/v1", api_key: k }
guardrails:
  - { guardrail_name: words, litellm_params: { guardrail: words, mode: pre_call, words: [zanzibar] } }
  - { guardrail_name: strict, litellm_params: { guardrail: words, mode: pre_call, words: [zanzibar], unreadable_files: block } }
  - { guardrail_name: length, litellm_params: { guardrail: length, mode: pre_call, max_characters: 100000, unreadable_files: block } }
files_settings:
  - { custom_llm_provider: openai, api_base: "{simulator}/v1", api_key: k }
`,
  })
  for (const name of ['words', 'strict', 'length']) keys[name] = await gateway.key({ guardrails: [name] })
})
afterAll(() => gateway?.stop())

const word = 'zanzibar'
const notes = readFileSync(join(import.meta.dir, '../data/files/notes.pdf'))
const wide = (text: string, isBigEndian: boolean): Buffer => {
  const bytes = Buffer.from(text, 'utf16le')
  return isBigEndian ? bytes.swap16() : bytes
}

/** A ZIP archive with one packed member. */
function zip(name: string, text: string, isEncrypted = false): Buffer {
  const packed = deflateRawSync(text)
  const head = Buffer.alloc(30)
  head.write('PK\x03\x04', 'latin1')
  head.writeUInt16LE(8, 8)
  head.writeUInt32LE(crc32(text), 14)
  head.writeUInt32LE(packed.length, 18)
  head.writeUInt32LE(Buffer.byteLength(text), 22)
  head.writeUInt16LE(name.length, 26)
  const entry = Buffer.alloc(46)
  entry.write('PK\x01\x02', 'latin1')
  entry.writeUInt16LE(isEncrypted ? 1 : 0, 8)
  entry.writeUInt16LE(8, 10)
  entry.writeUInt32LE(crc32(text), 16)
  entry.writeUInt32LE(packed.length, 20)
  entry.writeUInt32LE(Buffer.byteLength(text), 24)
  entry.writeUInt16LE(name.length, 28)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(entry.length + name.length, 12)
  end.writeUInt32LE(head.length + name.length + packed.length, 16)
  return Buffer.concat([head, Buffer.from(name), packed, entry, Buffer.from(name), end])
}

/** One page with one content, packed as `filters` say; its table of objects is missing, which readers mend. */
function pdf(content: string, pack: (content: string) => Buffer | string, filters: string, field?: string): Buffer {
  const stream = Buffer.from(pack(content))
  const head = [
    '%PDF-1.7',
    `1 0 obj <</Type /Catalog /Pages 2 0 R /AcroForm <</Fields [6 0 R]>>>> endobj`,
    '2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj',
    '3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources <</Font <</F1 4 0 R>>>> /Annots [6 0 R] /Contents 5 0 R>> endobj',
    '4 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj',
    `6 0 obj ${field ?? 'null'} endobj`,
    `5 0 obj <</Length ${stream.length} ${filters}>> stream\n`,
  ]
  const tail = '\nendstream endobj\ntrailer <</Root 1 0 R /Size 7>>\n%%EOF'
  return Buffer.concat([Buffer.from(head.join('\n')), stream, Buffer.from(tail)])
}
const ascii85 = (bytes: Buffer): string => {
  let out = ''
  for (let at = 0; at < bytes.length; at += 4) {
    const group = Buffer.alloc(4)
    const count = bytes.copy(group, 0, at, at + 4)
    let value = group.readUInt32BE()
    const letters = Array.from({ length: 5 }, () => {
      const letter = String.fromCharCode(33 + (value % 85))
      value = Math.floor(value / 85)
      return letter
    })
    out += letters
      .reverse()
      .join('')
      .slice(0, count + 1)
  }
  return `${out}~>`
}
const kerned = 'BT /F1 12 Tf 10 700 Td [(a walk in zan) -20 (zib) 15 (ar)] TJ ET'

const readable: Record<string, readonly [type: string, bytes: Buffer]> = {
  'UTF-16 with a mark': ['text/plain', Buffer.concat([Buffer.from([0xff, 0xfe]), wide(`to ${word}`, false)])],
  'UTF-16 without a mark': ['text/plain', wide(`to ${word}`, false)],
  'UTF-16 that begins with its high bytes': ['text/plain', wide(`to ${word}`, true)],
  'UTF-16 behind letters of one byte': [
    'text/csv',
    Buffer.concat([Buffer.from('a;b;c\n'.repeat(2000)), wide(word, true)]),
  ],
  'UTF-16 without a letter of one byte but the word': ['text/plain', wide(`東京都${'龍'.repeat(5000)} ${word}`, false)],
  'UTF-32': ['text/plain', Buffer.from([...word].flatMap(one => [one.charCodeAt(0), 0, 0, 0]))],
  'Windows-1252 beside the word': ['text/plain', Buffer.from(`Grüße aus ${word}`, 'latin1')],
  gzip: ['application/gzip', gzipSync(`to ${word}`)],
  'gzip in gzip, as text': ['text/plain', gzipSync(gzipSync(`to ${word}`))],
  Zstandard: ['application/zstd', Buffer.from(Bun.zstdCompressSync(Buffer.from(`to ${word}`.repeat(50))))],
  'a document of Office, split by formatting': [
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    zip(
      'word/document.xml',
      '<w:document><w:p><w:r><w:t>to zan</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>zibar</w:t></w:r></w:p></w:document>',
    ),
  ],
  'the name of a member': ['application/zip', zip('zanzibar.txt', 'nothing')],
  'a PDF of Chromium, its fonts numbered anew, the word half in bold': ['application/pdf', notes],
  'a packed PDF': ['application/gzip', gzipSync(notes)],
  'a PDF with a kerned word': ['application/pdf', pdf(kerned, deflateSync, '/Filter /FlateDecode')],
  'a PDF packed twice': [
    'application/pdf',
    pdf(kerned, one => ascii85(deflateSync(one)), '/Filter [/ASCII85Decode /FlateDecode]'),
  ],
  'a PDF in hexadecimal': [
    'application/pdf',
    pdf(kerned, one => `${Buffer.from(one).toString('hex')}>`, '/Filter /ASCIIHexDecode'),
  ],
  'a value of a form in a PDF': [
    'application/pdf',
    pdf(
      'BT /F1 12 Tf 10 700 Td (To:) Tj ET',
      one => one,
      '',
      `<</Type /Annot /Subtype /Widget /Rect [9 9 99 20] /FT /Tx /T (to) /V <feff${wide(word, true).toString('hex')}>>>`,
    ),
  ],
}
const unreadable: Record<string, readonly [type: string, bytes: Buffer]> = {
  'an encrypted archive': ['application/zip', zip('a.txt', 'x', true)],
  'a text of 60 MB in 60 kB': ['application/gzip', gzipSync(Buffer.alloc(60_000_000, 'a'))],
  'a PDF with 60 MB in 60 kB': ['application/pdf', pdf('a'.repeat(60_000_000), deflateSync, '/Filter /FlateDecode')],
  'a PDF by a filter that nothing here reads': ['application/pdf', pdf(kerned, deflateSync, '/Filter /ZonkDecode')],
  'bytes of an unknown kind': [
    'application/octet-stream',
    Buffer.from(Array.from({ length: 400 }, (_, at) => (at * 89 + 7) % 251)),
  ],
}

/** Files that other programs have made (`tests/data/files/make-files.py`). */
function corpus(folder: string): Record<string, readonly [type: string, bytes: Buffer]> {
  const path = join(import.meta.dir, '../data/files', folder)
  return Object.fromEntries(
    readdirSync(path).map(name => [name, [Bun.file(name).type, readFileSync(join(path, name))]] as const),
  )
}

const ask = async (name: string, [type, bytes]: readonly [string, Buffer]) => {
  const file = { filename: 'a', file_data: `data:${type};base64,${bytes.toString('base64')}` }
  const content = [
    { type: 'text', text: 'Where to?' },
    { type: 'file', file },
  ]
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[name]}` },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content }] }),
  })
  const text = await response.text()
  const [row] = await gateway.rows(`&request_id=${response.headers.get('x-request-id')}`)
  return { status: response.status, text, verdicts: row!.guardrails }
}

describe('a word is found in', () => {
  for (const [what, file] of Object.entries({ ...readable, ...corpus('readable') }))
    test(what, async () => {
      const refused = await ask('words', file)
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("guardrail 'words'")])
    })
})

describe('what cannot be read is flagged, or refused where that is set:', () => {
  for (const [what, file] of Object.entries({ ...unreadable, ...corpus('unreadable') }))
    test(what, async () => {
      expect(await ask('words', file)).toMatchObject({ status: 200, verdicts: 'words:flag(UNREADABLE_FILE=1)' })
      const refused = await ask('strict', file)
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('cannot be read')])
      expect((await ask('length', file)).status).toBe(400)
    })
})

test('pictures and texts in UTF-8 pass without a flag', async () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  for (const file of [
    ['image/png', png],
    ['text/plain', Buffer.from('Grüße, 東京')],
  ] as const)
    expect(await ask('strict', file)).toMatchObject({ status: 200, verdicts: 'strict:pass' })
})

test('a picture that is a text in truth is read', async () => {
  const url = `data:image/png;base64,${Buffer.from(`to ${word}`).toString('base64')}`
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.words}` },
    body: JSON.stringify({
      model: 'chat',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    }),
  })
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("guardrail 'words'")])
})

test('an uploaded file is read as an inline one is', async () => {
  for (const what of [
    'UTF-16 without a mark',
    'gzip in gzip, as text',
    'a PDF of Chromium, its fonts numbered anew, the word half in bold',
  ]) {
    const form = new FormData()
    form.append('purpose', 'user_data')
    form.append('file', new File([new Uint8Array(readable[what]![1])], 'a.bin'))
    const response = await fetch(`${gateway.url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.words}` },
      body: form,
    })
    expect([what, response.status, await response.text()]).toEqual([
      what,
      400,
      expect.stringContaining("guardrail 'words'"),
    ])
  }
})
