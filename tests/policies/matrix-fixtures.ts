/** What a key of the matrix has stored before its cases are sent. */
import { expect } from 'bun:test'
import type { Gateway } from '../e2e/harness.ts'
import type { Fixtures } from './matrix-cases.ts'

type Json = Record<string, any>

/** `texts` = those that cases send: for each there is a stored response whose answer is this text. */
export async function makeFixtures(gateway: Gateway, key: string, texts: readonly string[]): Promise<Fixtures> {
  const headers = { authorization: `Bearer ${key}` }
  const post = async (path: string, body: FormData | Json): Promise<Json> => {
    const sent = body instanceof FormData ? body : JSON.stringify(body)
    const response = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: sent })
    expect(response.status).toBe(200)
    return (await response.json()) as Json
  }
  const tool = { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } }
  const responses: Record<string, string> = {}
  for (const [at, text] of texts.entries()) {
    gateway.simulator.script({ text: `cue ${at}` }, { text })
    responses[text] = (await post('/v1/responses', { model: 'gpt', input: `cue ${at}` })).id as string
  }
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('model', 'batched')
  const body = { model: 'batched', messages: [{ role: 'user', content: 'Hi' }] }
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body }
  form.append('file', new File([JSON.stringify(line)], 'a.jsonl'))
  const { id } = await post('/chat/conversations', {})
  const { message, answers } = await post(`/chat/conversations/${id}/messages`, { text: 'Hi', models: ['gpt'] })
  // Ends with the answer: its call is settled then.
  const events = `${gateway.url}/chat/conversations/${id}/messages/${answers[0].id}/events`
  expect(await (await fetch(events, { headers })).text()).toContain('[DONE]')
  return {
    assistant: (await post('/v1/assistants', { model: 'chat' })).id as string,
    toolAssistant: (await post('/v1/assistants', { model: 'chat', tools: [tool] })).id as string,
    batchFile: (await post('/v1/files', form)).id as string,
    conversation: { id: id as string, question: message.id as string },
    responses,
  }
}
