/** One model of every kind at the simulator, and an upstream for batches, which the simulator does not have. */

export const matrixConfig = (batches: string): string => `
model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/sim, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
  - model_name: claude
    proxy_params: { model: anthropic/claude-sonnet-4-5, api_base: "{simulator}", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
  - model_name: flash
    proxy_params: { model: gemini/gemini-2.5-flash, api_base: "{simulator}", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
  - model_name: gpt
    proxy_params: { model: openai/gpt-5, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
  - model_name: embedder
    proxy_params: { model: gemini/gemini-embedding-001, api_base: "{simulator}", api_key: k, input_cost_per_token: 0.0000001, output_cost_per_token: 0 }
  - model_name: embed
    proxy_params: { model: openai/text-embedding-3-small, api_base: "{simulator}/v1", api_key: k, input_cost_per_token: 0.0000001, output_cost_per_token: 0 }
    model_info: { mode: embedding }
  - model_name: judge
    proxy_params: { model: openai/omni-moderation-latest, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: moderation }
  - model_name: paint
    proxy_params: { model: openai/gpt-image-1, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: image_generation }
  - model_name: vary
    proxy_params: { model: openai/dall-e-2, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: image_generation }
  - model_name: speak
    proxy_params: { model: openai/gpt-4o-mini-tts, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: audio_speech }
  - model_name: hear
    proxy_params: { model: openai/whisper-1, api_base: "{simulator}/v1", api_key: k }
    model_info: { mode: audio_transcription }
  - model_name: rank
    proxy_params: { model: cohere/rerank-v3.5, api_base: "{simulator}", api_key: k }
    model_info: { mode: rerank }
  - model_name: batched
    proxy_params: { model: openai/gpt-4o-mini, api_base: "${batches}", api_key: k }
  - model_name: batched-embed
    proxy_params: { model: openai/text-embedding-3-small, api_base: "${batches}", api_key: k }
    model_info: { mode: embedding }
  - model_name: batched-judge
    proxy_params: { model: openai/omni-moderation-latest, api_base: "${batches}", api_key: k }
    model_info: { mode: moderation }
  - model_name: batched-paint
    proxy_params: { model: openai/gpt-image-1, api_base: "${batches}", api_key: k }
    model_info: { mode: image_generation }
  - model_name: batched-hear
    proxy_params: { model: openai/whisper-1, api_base: "${batches}", api_key: k }
    model_info: { mode: audio_transcription }
router_settings: { num_retries: 0 }
`

/** Keeps files and batches as OpenAI does, and counts the requests. */
export class BatchUpstream {
  readonly files: string[] = []
  requests = 0
  readonly #server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    fetch: request => this.#answer(request),
  })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }

  async #answer(request: Request): Promise<Response> {
    this.requests++
    const { pathname } = new URL(request.url)
    const created_at = 1_700_000_000
    if (pathname === '/v1/files' && request.method === 'POST') {
      const form = await request.formData()
      const file = form.get('file') as unknown as File
      this.files.push(await file.text())
      const id = `file-up${this.files.length}`
      return Response.json({
        id,
        object: 'file',
        bytes: file.size,
        created_at,
        filename: file.name,
        purpose: form.get('purpose'),
        status: 'processed',
      })
    }
    if (pathname === '/v1/batches') {
      const fields = (await request.json()) as object
      return Response.json({
        id: `batch_up${this.requests}`,
        object: 'batch',
        status: 'validating',
        created_at,
        ...fields,
      })
    }
    return Response.json({ error: { message: `no ${pathname}` } }, { status: 404 })
  }
}
