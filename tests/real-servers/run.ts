/**
 * `npm run real-servers`: a gateway before the server of llama.cpp with a real model of 135 million parameters. Builds the
 * server the first time, which takes up to half an hour and needs a C++ compiler; LLAMA_SERVER and LLAMA_MODEL name
 * others. Prints a line a case and ends with status 1 when one fails. Skips with a word where there is no Python.
 */
import { startGatewayProcess } from '../support/gateway-process.ts'
import { cases } from './cases.ts'
import { llamaFiles, startLlama } from './llama-server.ts'

const files = await llamaFiles()
if (!files) {
  console.log('skipped: there is no python3 on this machine')
  process.exit(0)
}
const chat = await startLlama(files, ['--ctx-size', '2048', '--parallel', '1', '--jinja'])
const embeddings = await startLlama(files, [
  '--embeddings',
  '--pooling',
  'mean',
  '--ctx-size',
  '512',
  '--batch-size',
  '512',
])
const at = (url: string, more = '') => `{ model: "llamafile/any", api_base: "${url}/v1"${more} }`
const gateway = await startGatewayProcess(`
model_list:
  - model_name: small
    proxy_params: ${at(chat.url)}
  # Its template has no tools: the gateway writes them into the prompt.
  - model_name: prompted
    proxy_params: ${at(chat.url)}
    model_info: { tool_calling: prompted }
  - model_name: impatient
    proxy_params: ${at(chat.url, ', stream_timeout: 0.05')}
  - model_name: falls-back
    proxy_params: ${at(chat.url)}
  - model_name: vectors
    proxy_params: ${at(embeddings.url)}
    model_info: { mode: embedding }
router_settings:
  num_retries: 2
  allowed_fails: 0
  cooldown_time: 60
  context_window_fallbacks: [{ falls-back: [local/simulated-chat] }]
`)
let failed = 0
try {
  const rig = { gateway: gateway.url, key: await gateway.key(), chat, embeddings }
  for (const [name, check] of Object.entries(cases)) {
    const fromMs = performance.now()
    const problem = await check(rig).then(
      () => '',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    if (problem) failed++
    const seconds = ((performance.now() - fromMs) / 1000).toFixed(1)
    console.log(`${problem ? 'FAILED' : 'ok'}  ${name} (${seconds} s)${problem ? `: ${problem}` : ''}`)
  }
} finally {
  await Promise.all([gateway.stop(), chat.kill(), embeddings.kill()])
}
console.log(`${Object.keys(cases).length - failed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
