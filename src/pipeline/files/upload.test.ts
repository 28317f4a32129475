import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import type { BodyPiece } from '../../core/transport.ts'
import { boundaryOf, MultipartParser } from '../../lib/multipart.ts'
import { editedForm } from '../upstream/form.ts'
import { readForm } from './upload.ts'
import type { FormRequest, ReadForm } from './upload.ts'

const directory = mkdtempSync(join(tmpdir(), 'modelgate-upload-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const limits = { bytesMax: 5_000_000, directory }

/** What a browser would send. */
function formRequest(fill: (form: FormData) => void): FormRequest {
  const form = new FormData()
  fill(form)
  const written = new Response(form)
  const contentType = written.headers.get('content-type')!
  return rawRequest(written.body!, contentType)
}

function rawRequest(body: BodyInit, contentType = 'multipart/form-data; boundary=B'): FormRequest {
  const reader = new Response(body).body!.getReader()
  return {
    headers: new Headers({ 'content-type': contentType }),
    body: {
      announcedBytes: undefined,
      ended: false,
      read: () => {},
      next: async () => (await reader.read()).value,
      keep: () => () => {},
      hold: () => {},
    },
  }
}

const bytesOf = (content: readonly BodyPiece[]) =>
  Buffer.concat(
    content.map(piece => {
      if (piece instanceof Uint8Array) return piece
      const bytes = new Uint8Array(piece.length)
      expect(piece.file.read(bytes, piece.offset)).toBe(piece.length)
      return bytes
    }),
  )

const small = new Uint8Array(1000).fill(1)
const large = Uint8Array.from({ length: 700_000 }, (_, at) => at % 251)
const larger = Uint8Array.from({ length: 900_000 }, (_, at) => at % 13)

const failure = (request: FormRequest, given = limits) =>
  readForm(request, given).then(
    () => undefined,
    (thrown: GatewayError) => thrown,
  )

describe('reading a form', () => {
  test('fields become JSON; small files stay in memory, large ones go to one file without a name', async () => {
    const { body, upload } = await readForm(
      formRequest(form => {
        form.append('file', new File([large], 'large.wav', { type: 'audio/wav' }))
        form.append('model', 'whisper-1')
        form.append('timestamp_granularities[]', 'word')
        form.append('include[]', 'logprobs')
        form.append('include[]', 'other')
        form.append('mask', new File([small], 'mask.png'))
        form.append('second', new File([larger], 'second'))
        form.append('__proto__', 'x')
      }),
      limits,
    )
    expect(JSON.parse(Buffer.from(body.bytes).toString())).toEqual(
      JSON.parse(`{"file":{"filename":"large.wav","content_type":"audio/wav","bytes":700000},"model":"whisper-1",
        "timestamp_granularities":["word"],"include":["logprobs","other"],"mask":{"filename":"mask.png","content_type":"application/octet-stream","bytes":1000},
        "second":{"filename":"second","content_type":"application/octet-stream","bytes":900000},"__proto__":"x"}`),
    )
    const part = (name: string) => upload.parts.find(one => one.name === name)!
    expect(part('mask').content.every(piece => piece instanceof Uint8Array)).toBe(true)
    expect(part('file').content.some(piece => piece instanceof Uint8Array)).toBe(false)
    expect(bytesOf(part('file').content).equals(large)).toBe(true)
    expect(bytesOf(part('second').content).equals(larger)).toBe(true)
    expect(readdirSync(directory)).toEqual([])
    upload.close()
    upload.close()
    const [piece] = part('file').content
    expect(piece instanceof Uint8Array ? -1 : piece!.file.read(new Uint8Array(5), 0)).toBe(0)
  })

  test('a field given twice cannot hide the first', async () => {
    const { body } = await readForm(
      formRequest(form => {
        form.append('model', 'a')
        form.append('model', 'b')
      }),
      limits,
    )
    expect(body.get('model')).toEqual(['a', 'b'])
  })

  test('single bytes cost little', async () => {
    const head = Buffer.from('--B\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n')
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(head)
        for (let at = 0; at < 50_000; at++) controller.enqueue(Uint8Array.of(at & 255))
        controller.enqueue(Buffer.from('\r\n--B--\r\n'))
        controller.close()
      },
    })
    const { upload } = await readForm(rawRequest(stream), limits)
    expect(upload.parts[0]!.bytes).toBe(50_000)
    expect(upload.parts[0]!.content.length).toBeLessThan(256)
    expect(bytesOf(upload.parts[0]!.content).every((byte, at) => byte === (at & 255))).toBe(true)
  })

  const part = (name: string, value: string, more = '') =>
    `--B\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
  const refused: [string, FormRequest, string, string][] = [
    ['JSON', rawRequest('{}', 'application/json'), 'unsupported-media', 'must be multipart/form-data'],
    ['no boundary', rawRequest('x', 'multipart/form-data'), 'unsupported-media', 'no boundary'],
    ['an empty body', rawRequest(''), 'invalid-request', 'does not begin'],
    ['a cut body', rawRequest(part('a', 'b')), 'invalid-request', 'closing boundary'],
    ['a field without end', rawRequest(`${part('a', 'x'.repeat(1_100_000))}--B--`), 'invalid-request', 'field `a`'],
    ['ten large fields', rawRequest(`${part('a', 'x'.repeat(1_000_000)).repeat(9)}--B--`), 'too-large', '5000000'],
    [
      'a field of bytes',
      rawRequest(
        Buffer.concat([Buffer.from(part('a', '')).subarray(0, -2), Uint8Array.of(255), Buffer.from('\r\n--B--')]),
      ),
      'invalid-request',
      'UTF-8',
    ],
    ['a large file', rawRequest(`${part('f', 'x'.repeat(6_000_000), '; filename="f"')}--B--`), 'too-large', '5000000'],
  ]
  for (const [what, request, kind, words] of refused)
    test(`refuses ${what}`, async () => {
      const error = await failure(request)
      expect([error?.kind, error?.message]).toEqual([kind as never, expect.stringContaining(words)])
      expect(readdirSync(directory)).toEqual([])
    })

  test('many fields are refused by what they are together', async () => {
    const error = await failure(rawRequest(`${part('a', 'x'.repeat(1_000_000)).repeat(9)}--B--`), {
      ...limits,
      bytesMax: 1e9,
    })
    expect(error?.message).toContain('8388608 bytes together')
  })

  test('a stream that breaks after a large file leaves no open descriptor', async () => {
    const open = () => readdirSync('/proc/self/fd').length
    const before = existsSync('/proc/self/fd') ? open() : 0
    for (let at = 0; at < 20; at++) {
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(Buffer.from('--B\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n'))
          controller.enqueue(new Uint8Array(400_000))
        },
        pull: controller => controller.error(new GatewayError('client-closed', 'gone')),
      })
      expect((await failure(rawRequest(stream)))?.kind).toBe('client-closed')
    }
    await Bun.sleep(20)
    if (before > 0) expect(open() - before).toBeLessThan(5)
  })

  test("a directory that cannot be written is the gateway's fault, not the client's", async () => {
    const blocked = join(directory, 'blocked')
    writeFileSync(blocked, '')
    chmodSync(blocked, 0o400)
    const thrown = await failure(
      formRequest(form => form.append('file', new File([large], 'f'))),
      { ...limits, directory: blocked },
    )
    rmSync(blocked)
    expect(thrown).toBeInstanceOf(Error)
    expect(thrown?.kind).toBeUndefined()
  })
})

describe('writing a form anew', () => {
  const read = (form: FormData) =>
    readForm(
      formRequest(to => form.forEach((value, name) => to.append(name, value))),
      limits,
    )

  /** Names, file names, types and contents, as an upstream would read them. */
  function parsed(written: ReturnType<typeof editedForm>) {
    const parser = new MultipartParser(boundaryOf(written.contentType), { partsMax: 64, headBytesMax: 1024 })
    const out: { name: string; filename?: string | undefined; text: string }[] = []
    for (const event of parser.push(bytesOf(written.body))) {
      if (event.type === 'part') out.push({ name: event.head.name, filename: event.head.filename, text: '' })
      if (event.type === 'data') out.at(-1)!.text += Buffer.from(event.bytes).toString('latin1')
    }
    parser.end()
    return out
  }

  test('the model is replaced, gateway fields are removed, the rest stays; fields come before files', async () => {
    const form = new FormData()
    form.append('file', new File([large], 'a "quoted" näme.wav'))
    form.append('model', 'public')
    form.append('api_base', 'http://evil')
    form.append('timestamp_granularities[]', 'word')
    form.append('timestamp_granularities[]', 'segment')
    form.append('prompt', 'naïve\r\n--B--')
    const made: ReadForm = await read(form)
    const written = editedForm(made.upload, [
      { remove: 'api_base' },
      { set: 'model', json: '"whisper-1"' },
      { set: 'temperature', json: '0.5' },
    ])
    const parts = parsed(written)
    expect(parts.map(({ name, filename, text }) => [name, filename, text.length > 100 ? text.length : text])).toEqual([
      ['model', undefined, 'whisper-1'],
      ['temperature', undefined, '0.5'],
      ['timestamp_granularities[]', undefined, 'word'],
      ['timestamp_granularities[]', undefined, 'segment'],
      ['prompt', undefined, Buffer.from('naïve\r\n--B--').toString('latin1')],
      ['file', 'a "quoted" näme.wav', 700_000],
    ])
    expect(Buffer.from(parts.at(-1)!.text, 'latin1').equals(large)).toBe(true)
    expect(parsed(editedForm(made.upload, [{ remove: 'timestamp_granularities' }])).map(one => one.name)).toEqual([
      'model',
      'api_base',
      'prompt',
      'file',
    ])
    made.upload.close()
  })

  test('every call has its own boundary', async () => {
    const { upload } = await read(new FormData())
    expect(editedForm(upload, []).contentType).not.toBe(editedForm(upload, []).contentType)
  })
})
