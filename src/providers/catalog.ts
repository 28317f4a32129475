/**
 * Hosts that speak OpenAI's dialect, by the names that users of other gateways know. Adding one is adding a
 * row. Addresses and key names: each host's own documentation.
 */
import type { CompatibleRow } from './openai-compatible/row.ts'

const noDeveloper = { noDeveloperRole: true }

/**
 * The hosts, by `Provider.name`, which stands before the slash of a `model`. A host has chat and embeddings unless its row
 * denies them, and nothing else unless its row claims it.
 */
export const catalog = {
  openai: {
    baseUrl: 'https://api.openai.com/v1', apiKeyEnv: ['OPENAI_API_KEY'], maxTokensField: 'max_completion_tokens', newestParams: true,
    responses: true, moderations: true, images: true, imageEdits: true, imageVariations: true,
    speech: true, transcriptions: true, translations: true, files: true,
  },
  groq: {
    baseUrl: 'https://api.groq.com/openai/v1', apiKeyEnv: ['GROQ_API_KEY'], embeddings: false,
    responses: true, speech: true, transcriptions: true, translations: true, files: true,
  },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', apiKeyEnv: ['DEEPSEEK_API_KEY'], embeddings: false, quirks: noDeveloper },
  xai: { baseUrl: 'https://api.x.ai/v1', apiKeyEnv: ['XAI_API_KEY'], embeddings: false, completions: true, responses: true, images: true },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', apiKeyEnv: ['OPENROUTER_API_KEY'], completions: true, topK: true, responses: true },
  together_ai: {
    baseUrl: 'https://api.together.ai/v1', apiKeyEnv: ['TOGETHERAI_API_KEY', 'TOGETHER_API_KEY'], completions: true, topK: true, quirks: noDeveloper,
    rerank: 'jina', images: true, speech: true, transcriptions: true, translations: true,
  },
  fireworks_ai: {
    baseUrl: 'https://api.fireworks.ai/inference/v1', apiKeyEnv: ['FIREWORKS_AI_API_KEY', 'FIREWORKS_API_KEY'], completions: true, topK: true, quirks: noDeveloper,
    responses: true,
  },
  /** Its chat, Sonar, was retired on 2026-09-27; what is left is the Agent API, in the words of `/responses`. */
  perplexity: {
    baseUrl: 'https://api.perplexity.ai/v1', responses: true, apiKeyEnv: ['PERPLEXITYAI_API_KEY', 'PERPLEXITY_API_KEY'], embeddings: false, topK: true, quirks: { ...noDeveloper, streamOptions: false },
  },
  cerebras: { baseUrl: 'https://api.cerebras.ai/v1', apiKeyEnv: ['CEREBRAS_API_KEY'], embeddings: false, quirks: noDeveloper },
  sambanova: {
    baseUrl: 'https://api.sambanova.ai/v1', apiKeyEnv: ['SAMBANOVA_API_KEY'], quirks: noDeveloper,
    transcriptions: true, translations: true,
  },
  nvidia_nim: { baseUrl: 'https://integrate.api.nvidia.com/v1', apiKeyEnv: ['NVIDIA_NIM_API_KEY', 'NVIDIA_API_KEY'], quirks: noDeveloper },
  deepinfra: {
    baseUrl: 'https://api.deepinfra.com/v1/openai', apiKeyEnv: ['DEEPINFRA_API_KEY'], completions: true, topK: true, quirks: noDeveloper,
    images: true, speech: true, transcriptions: true,
  },
  hyperbolic: { baseUrl: 'https://api.hyperbolic.xyz/v1', apiKeyEnv: ['HYPERBOLIC_API_KEY'], completions: true, topK: true, quirks: noDeveloper },
  novita: { baseUrl: 'https://api.novita.ai/openai/v1', apiKeyEnv: ['NOVITA_API_KEY'], files: true, completions: true, topK: true, quirks: noDeveloper },
  nebius: {
    baseUrl: 'https://api.tokenfactory.nebius.com/v1', apiKeyEnv: ['NEBIUS_API_KEY'], completions: true, topK: true, quirks: noDeveloper,
    images: true, files: true,
  },
  moonshot: { baseUrl: 'https://api.moonshot.ai/v1', apiKeyEnv: ['MOONSHOT_API_KEY'], embeddings: false, quirks: noDeveloper },
  zai: { baseUrl: 'https://api.z.ai/api/paas/v4', apiKeyEnv: ['ZAI_API_KEY'], quirks: noDeveloper, images: true },
  dashscope: {
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1', apiKeyEnv: ['DASHSCOPE_API_KEY'], topK: true, quirks: noDeveloper, files: true,
  },
  minimax: { baseUrl: 'https://api.minimax.io/v1', apiKeyEnv: ['MINIMAX_API_KEY'], embeddings: false, quirks: noDeveloper },
  siliconflow: {
    baseUrl: 'https://api.siliconflow.com/v1', apiKeyEnv: ['SILICONFLOW_API_KEY'], topK: true, quirks: noDeveloper,
    rerank: 'jina', speech: true, transcriptions: true,
  },
  volcengine: {
    baseUrl: 'https://ark.cn-beijing.volces.com/api/v3', apiKeyEnv: ['VOLCENGINE_API_KEY', 'ARK_API_KEY'], quirks: noDeveloper,
    responses: true, images: true,
  },
  baseten: { baseUrl: 'https://inference.baseten.co/v1', apiKeyEnv: ['BASETEN_API_KEY'], embeddings: false, quirks: noDeveloper },
  featherless_ai: { baseUrl: 'https://api.featherless.ai/v1', apiKeyEnv: ['FEATHERLESS_AI_API_KEY', 'FEATHERLESS_API_KEY'], completions: true, quirks: noDeveloper },
  friendliai: { baseUrl: 'https://api.friendli.ai/serverless/v1', apiKeyEnv: ['FRIENDLI_TOKEN'], completions: true, quirks: noDeveloper },
  huggingface: { baseUrl: 'https://router.huggingface.co/v1', apiKeyEnv: ['HF_TOKEN', 'HUGGINGFACE_API_KEY'], embeddings: false, quirks: noDeveloper },
  vercel_ai_gateway: { baseUrl: 'https://ai-gateway.vercel.sh/v1', apiKeyEnv: ['VERCEL_AI_GATEWAY_API_KEY', 'AI_GATEWAY_API_KEY'] },
  ai21_chat: { baseUrl: 'https://api.ai21.com/studio/v1', apiKeyEnv: ['AI21_API_KEY'], embeddings: false, quirks: noDeveloper },
  inception: { baseUrl: 'https://api.inceptionlabs.ai/v1', apiKeyEnv: ['INCEPTION_API_KEY'], embeddings: false, quirks: noDeveloper },
  morph: { baseUrl: 'https://api.morphllm.com/v1', apiKeyEnv: ['MORPH_API_KEY'], files: true, quirks: noDeveloper },
  chutes: { baseUrl: 'https://llm.chutes.ai/v1', apiKeyEnv: ['CHUTES_API_KEY'], completions: true, topK: true, quirks: noDeveloper },
  scaleway: { baseUrl: 'https://api.scaleway.ai/v1', apiKeyEnv: ['SCW_SECRET_KEY'], quirks: noDeveloper, transcriptions: true },
  stepfun: { baseUrl: 'https://api.stepfun.com/v1', apiKeyEnv: ['STEPFUN_API_KEY'], embeddings: false, quirks: noDeveloper },
  upstage: { baseUrl: 'https://api.upstage.ai/v1', apiKeyEnv: ['UPSTAGE_API_KEY'], quirks: noDeveloper },
  lambda_ai: { baseUrl: 'https://api.lambda.ai/v1', apiKeyEnv: ['LAMBDA_API_KEY'], completions: true, quirks: noDeveloper },
  meta_llama: { baseUrl: 'https://api.llama.com/compat/v1', apiKeyEnv: ['LLAMA_API_KEY'], embeddings: false, quirks: noDeveloper },
  lm_studio: {
    baseUrl: 'http://127.0.0.1:1234/v1', apiKeyEnv: ['LM_STUDIO_API_KEY'], keyless: true, completions: true, topK: true, quirks: noDeveloper,
    responses: true,
  },
  hosted_vllm: {
    baseUrl: 'http://127.0.0.1:8000/v1', apiKeyEnv: ['HOSTED_VLLM_API_KEY'], keyless: true, completions: true, topK: true,
    responses: true, rerank: 'jina', transcriptions: true, translations: true,
  },
  llamafile: { baseUrl: 'http://127.0.0.1:8080/v1', apiKeyEnv: ['LLAMAFILE_API_KEY'], keyless: true, completions: true, topK: true, quirks: noDeveloper },
  litellm_proxy: {
    apiKeyEnv: ['LITELLM_PROXY_API_KEY'], keyless: true,
    responses: true, moderations: true, images: true, imageEdits: true, rerank: 'jina', speech: true, transcriptions: true, files: true,
  },
  jina_ai: { baseUrl: 'https://api.jina.ai/v1', apiKeyEnv: ['JINA_AI_API_KEY', 'JINA_API_KEY'], chat: false, embeddings: 'plain', rerank: 'jina', quirks: { drop: ['user'] } },
  voyage: {
    baseUrl: 'https://api.voyageai.com/v1', apiKeyEnv: ['VOYAGE_API_KEY'], chat: false, embeddings: 'plain', rerank: 'voyage',
    quirks: { rename: { dimensions: 'output_dimension' }, drop: ['user'] },
  },
  /** Emulated operations (responses, moderations) are not taken for granted here. Any other host: `api_base` says where. */
  custom_openai: {
    apiKeyEnv: [], keyless: true, completions: true, topK: true,
    images: true, imageEdits: true, rerank: 'jina', speech: true, transcriptions: true, translations: true, files: true,
  },
  text_completion_openai: { baseUrl: 'https://api.openai.com/v1', apiKeyEnv: ['OPENAI_API_KEY'], completions: true },
} as const satisfies Record<string, CompatibleRow>
