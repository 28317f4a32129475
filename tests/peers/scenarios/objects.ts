/** Objects that are kept: files, batches, assistants, threads. */
import type { Gateway } from '../answer.ts'
import type { Scenario } from './scenario.ts'

const line = JSON.stringify({
  custom_id: 'one',
  method: 'POST',
  url: '/v1/chat/completions',
  body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'say: hello' }] },
})

function upload(): FormData {
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new File([`${line}\n`], 'lines.jsonl', { type: 'application/jsonl' }))
  form.set('custom_llm_provider', 'openai')
  return form
}

const id = async (gateway: Gateway, path: string, body: unknown): Promise<string> =>
  String((await gateway.step({ path, body })).id)
const file = (gateway: Gateway) => id(gateway, '/v1/files', upload())
const batchOf = (input_file_id: string) => ({
  input_file_id,
  endpoint: '/v1/chat/completions',
  completion_window: '24h',
})
const batch = async (gateway: Gateway) => id(gateway, '/v1/batches', batchOf(await file(gateway)))
const thread = (gateway: Gateway) => id(gateway, '/v1/threads', {})

/** All of them. */
export const objectScenarios: readonly Scenario[] = [
  { name: 'files: upload', run: gateway => gateway.ask({ path: '/v1/files', body: upload() }) },
  { name: 'files: one', run: async gateway => gateway.ask({ path: `/v1/files/${await file(gateway)}` }) },
  { name: 'files: content', run: async gateway => gateway.ask({ path: `/v1/files/${await file(gateway)}/content` }) },
  { name: 'files: list', run: gateway => gateway.ask({ path: '/v1/files' }) },
  {
    name: 'files: delete',
    run: async gateway => gateway.ask({ path: `/v1/files/${await file(gateway)}`, method: 'DELETE' }),
  },
  { name: 'files: none', run: gateway => gateway.ask({ path: '/v1/files/file-none' }) },
  {
    name: 'batches: start',
    run: async gateway => gateway.ask({ path: '/v1/batches', body: batchOf(await file(gateway)) }),
  },
  { name: 'batches: one', run: async gateway => gateway.ask({ path: `/v1/batches/${await batch(gateway)}` }) },
  { name: 'batches: list', run: gateway => gateway.ask({ path: '/v1/batches?limit=2' }) },
  { name: 'batches: none', run: gateway => gateway.ask({ path: '/v1/batches/batch_none' }) },
  {
    name: 'batches: without a file',
    run: gateway =>
      gateway.ask({ path: '/v1/batches', body: { endpoint: '/v1/chat/completions', completion_window: '24h' } }),
  },
  { name: 'threads: new', run: gateway => gateway.ask({ path: '/v1/threads', body: {} }) },
  { name: 'threads: one', run: async gateway => gateway.ask({ path: `/v1/threads/${await thread(gateway)}` }) },
]
