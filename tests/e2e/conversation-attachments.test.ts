/** Files that are sent with the questions of a conversation: what the model gets, what is kept, what is refused. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, startGateway, standardConfig } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const pdf = Buffer.from('%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n')
const wav = Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt '), Buffer.alloc(30)])
const files = [
  { name: 'dot.png', bytes: png, type: 'image/png' },
  { name: 'paper.pdf', bytes: pdf, type: 'application/pdf' },
  { name: 'tone.wav', bytes: wav, type: 'audio/wav' },
  { name: 'notes.md', bytes: Buffer.from('# a canary in a file'), type: 'text/plain' },
]
const sent = ({ name, bytes }: { name: string; bytes: Buffer }) => ({ name, data: bytes.toString('base64') })
const quota = '\ngeneral_settings: { max_stored_mb_per_key: 0.2 }\n'

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    let key: string
    beforeAll(async () => {
      const MODELGATE_ENCRYPTION_KEY = 'an encryption key of more than 32 characters'
      gateway = await startGateway({
        backend,
        config: standardConfig + quota,
        environment: { MODELGATE_ENCRYPTION_KEY },
      })
      key = await gateway.key()
    })
    afterAll(() => gateway?.stop())

    const send = (method: string, path: string, body?: object, asker = key) =>
      fetch(`${gateway.url}/chat/conversations${path}`, {
        method,
        headers: { authorization: `Bearer ${asker}` },
        ...(body && { body: JSON.stringify(body) }),
      })
    const ask = async (path: string, body: object, asker = key): Promise<Json> => {
      const response = await send('POST', path, body, asker)
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`)
      return JSON.parse(text)
    }
    const begin = async (asker = key) => String((await ask('', {}, asker)).id)
    const question = (attachments: object[], more: object = {}) => ({
      text: 'say: seen',
      models: ['chat-model'],
      attachments,
      ...more,
    })
    const ended = async (id: string, { answers }: Json) =>
      (await send('GET', `/${id}/messages/${answers[0].id}/events`)).text()
    const lastParts = () =>
      (gateway.simulator.truth.entries.at(-1)!.body as Json).messages.findLast((one: Json) => one.role === 'user')
        .content

    test('pictures, PDF, sound and texts reach the model, are given back byte by byte, and go on with an edited question', async () => {
      const id = await begin()
      const made = await ask(`/${id}/messages`, question(files.map(sent)))
      await ended(id, made)
      const data = (bytes: Buffer) => bytes.toString('base64')
      const parts = [
        { type: 'image_url', image_url: { url: `data:image/png;base64,${data(png)}` } },
        { type: 'file', file: { filename: 'paper.pdf', file_data: `data:application/pdf;base64,${data(pdf)}` } },
        { type: 'input_audio', input_audio: { data: data(wav), format: 'wav' } },
        { type: 'text', text: 'notes.md:\n\n# a canary in a file' },
        { type: 'text', text: 'say: seen' },
      ]
      expect(lastParts()).toEqual(parts)
      const named = made.message.content.attachments as Json[]
      expect(named.map(one => [one.name, one.media_type, one.bytes])).toEqual(
        files.map(one => [one.name, one.type, one.bytes.length]),
      )
      for (const [at, { id: file }] of named.entries()) {
        const got = await send('GET', `/${id}/attachments/${file}`)
        expect(got.headers.get('content-type')).toStartWith(files[at]!.type)
        expect(got.headers.get('content-security-policy')).toContain('sandbox')
        expect(Buffer.from(await got.arrayBuffer()).equals(files[at]!.bytes)).toBe(true)
        // The same for the operator and for another key as for a file that is not there.
        const stranger = await send('GET', `/${id}/attachments/${file}`, undefined, await gateway.key())
        const ghost = await send('GET', `/conv_0/attachments/att_0`)
        expect([stranger.status, ghost.status]).toEqual([404, 404])
      }
      const edited = await ask(`/${id}/messages`, question([{ id: named[0]!.id }, { id: named[1]!.id }]))
      await ended(id, edited)
      expect(lastParts()).toEqual([parts[0], parts[1], parts[4]])
      const again = await ask(`/${id}/messages/${edited.message.id}/answers`, { models: ['chat-model'] })
      await ended(id, again)
      expect(lastParts()).toEqual([parts[0], parts[1], parts[4]])
      for (const file of readdirSync(gateway.dataDirectory, { recursive: true, withFileTypes: true }))
        if (file.isFile())
          expect(readFileSync(join(file.parentPath, file.name)).includes('canary in a file')).toBe(false)
    })

    test('what is no such file is refused by its place, and nothing is stored, sent or charged', async () => {
      const id = await begin()
      const other = await begin()
      const { message } = await ask(`/${other}/messages`, question([sent(files[0]!)]))
      const calls = gateway.simulator.truth.entries.length
      const refuse = async (attachments: object[], status: number, word: string, more: object = {}) => {
        const response = await send('POST', `/${id}/messages`, question(attachments, more))
        expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(word)])
      }
      await refuse([{ name: 'x.bin', data: Buffer.from([0, 1, 2, 255]).toString('base64') }], 422, 'attachments.0.data')
      await refuse([sent(files[0]!), { name: 'x.png', data: 'not base64 !' }], 422, 'attachments.1.data')
      await refuse([{ name: 'empty.txt', data: '' }], 422, 'attachments.0.data')
      await refuse([{ name: 'long.txt', data: Buffer.alloc(1_048_577, 'a').toString('base64') }], 413, 'long.txt')
      // A file of another conversation, of the same key.
      await refuse([{ id: message.content.attachments[0].id }], 404, 'attachments.0.id')
      await refuse([], 422, 'attach a file', { text: '' })
      await refuse(
        Array.from({ length: 11 }, () => sent(files[3]!)),
        422,
        'attachments',
      )
      expect((await (await send('GET', `/${id}`)).json()).messages).toEqual([])
      expect(gateway.simulator.truth.entries.length - calls).toBeLessThanOrEqual(1)
    })

    test('files count in what a key may store, and make room when their conversation is deleted', async () => {
      const asker = await gateway.key()
      const id = await begin(asker)
      // Two of them are more than the quota: a picture by its beginning.
      const picture = { name: 'big.png', data: Buffer.concat([png, Buffer.alloc(90_000)]).toString('base64') }
      await ask(`/${id}/messages`, question([picture]), asker)
      const second = await begin(asker)
      const refused = await send('POST', `/${second}/messages`, question([picture]), asker)
      expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('delete conversations')])
      expect((await send('DELETE', `/${id}`, undefined, asker)).status).toBe(200)
      await ask(`/${second}/messages`, question([picture]), asker)
      // Another person has a quota of their own.
      const other = await gateway.key()
      await ask(`/${await begin(other)}/messages`, question([picture]), other)
    })
  })
