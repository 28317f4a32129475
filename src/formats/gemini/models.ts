/** How models look in Google's lists (ai.google.dev/api/models, "Model"). */

/** What each kind of model is called with here; kinds that are not named have no method in this dialect. */
const methods: Readonly<Record<string, readonly string[]>> = {
  chat: ['generateContent', 'streamGenerateContent', 'countTokens'],
  embedding: ['embedContent', 'batchEmbedContents', 'countTokens'],
}

/** Limits that are not known are left out: 0 would look like one. */
export function geminiModelEntry(id: string, mode: string, info: Readonly<Record<string, unknown>>): object {
  const inputTokenLimit = info.max_input_tokens ?? info.context_window
  return {
    name: `models/${id}`,
    version: '001',
    displayName: typeof info.display_name === 'string' ? info.display_name : id,
    ...(typeof info.description === 'string' && { description: info.description }),
    ...(typeof inputTokenLimit === 'number' && { inputTokenLimit }),
    ...(typeof info.max_output_tokens === 'number' && { outputTokenLimit: info.max_output_tokens }),
    supportedGenerationMethods: methods[mode] ?? [],
    ...(typeof info.supports_reasoning === 'boolean' && { thinking: info.supports_reasoning }),
  }
}
