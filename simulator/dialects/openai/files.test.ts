import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startSimulator } from '../../index.ts'
import type { Simulator } from '../../index.ts'

type Json = Record<string, any>

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator()
})
afterAll(() => simulator.stop())

const ask = async (method: string, path: string, body?: FormData): Promise<[number, Json]> => {
  const response = await fetch(`${simulator.url}${path}`, { method, body })
  return [response.status, (await response.json()) as Json]
}
const form = (fields: Record<string, string | File>) => {
  const made = new FormData()
  for (const [name, value] of Object.entries(fields)) made.append(name, value)
  return made
}
const bytes = new Uint8Array([0, 255, 10, 13])
const file = () => new File([bytes], 'a.bin')

test('files are kept, listed, downloaded where OpenAI allows it, deleted, and removed by a reset', async () => {
  const [, picture] = await ask('POST', '/v1/files', form({ purpose: 'vision', file: file() }))
  const [, document] = await ask('POST', '/v1/files', form({ file: file(), purpose: 'user_data' }))
  expect(picture).toMatchObject({ object: 'file', bytes: 4, filename: 'a.bin', purpose: 'vision' })
  expect(picture.id).toMatch(/^file-[0-9a-z]{21,}$/)
  expect((await ask('GET', '/v1/files'))[1].data).toEqual([document, picture])
  expect(await ask('GET', `/v1/files/${picture.id}`)).toEqual([200, picture])
  const content = await fetch(`${simulator.url}/v1/files/${picture.id}/content`)
  expect([content.headers.get('content-type'), await content.bytes()]).toEqual(['application/octet-stream', bytes])
  expect(await ask('GET', `/v1/files/${document.id}/content`)).toMatchObject([
    400,
    { error: { message: 'Not allowed to download files of purpose: user_data' } },
  ])
  expect(await ask('DELETE', `/v1/files/${picture.id}`)).toEqual([
    200,
    { id: picture.id, object: 'file', deleted: true },
  ])
  expect((await ask('GET', `/v1/files/${picture.id}`))[0]).toBe(404)
  expect((await ask('PUT', '/v1/files'))[0]).toBe(405)
  expect((await ask('POST', `/v1/files/${document.id}`))[0]).toBe(405)
  expect((await ask('POST', '/v1/files', form({ purpose: 'vision' })))[0]).toBe(400)
  expect((await ask('POST', '/v1/files', form({ file: file() })))[0]).toBe(400)
  expect(JSON.stringify(simulator.truth.entries[0]!.body)).toContain('"bytes":4')
  simulator.reset()
  expect((await ask('GET', '/v1/files'))[1].data).toEqual([])
})
