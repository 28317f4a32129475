/** The configuration that both gateways are started with: a file of LiteLLM, in front of one simulator. */

const named = (name: string, model: string, more = ''): string =>
  `  - model_name: ${name}
    litellm_params: { model: "${model}", api_base: "{upstream}${model.startsWith('anthropic/') ? '' : '/v1'}", api_key: os.environ/UPSTREAM_KEY${more} }
`
const ofMode = (name: string, model: string, mode: string): string =>
  `${named(name, model)}    model_info: { mode: ${mode} }\n`

/** `upstream` is the address of the simulator; `isOurs` leaves out the place of the peer's database. */
export function peerConfig(upstream: string, isOurs: boolean): string {
  const text = `model_list:
${named('gpt-4o', 'openai/gpt-4o')}    model_info: { id: gpt-4o-sim, access_groups: [beta-models] }
${named('gpt-4.1-mini', 'openai/gpt-4.1-mini')}${named('o4-mini', 'openai/o4-mini')}${named('claude', 'anthropic/claude-sonnet-4-5')}\
${named('instruct', 'text-completion-openai/gpt-3.5-turbo-instruct')}\
${ofMode('embed', 'openai/text-embedding-3-small', 'embedding')}${ofMode('moderate', 'openai/omni-moderation-latest', 'moderation')}\
${ofMode('speak', 'openai/gpt-4o-mini-tts', 'audio_speech')}${ofMode('listen', 'openai/whisper-1', 'audio_transcription')}\
${ofMode('paint', 'openai/gpt-image-1', 'image_generation')}\
${named('limited', 'openai/gpt-4o#429')}${named('refused', 'openai/gpt-4o#status;code=401')}\
${named('invalid', 'openai/gpt-4o#status;code=400')}${named('absent', 'openai/gpt-4o#status;code=404')}\
${named('failing', 'openai/gpt-4o#status;code=500')}${named('falls', 'openai/gpt-4o#status;code=500')}\
${named('too-long', 'openai/gpt-4o#status;code=400;kind=context-length')}\
${named('filtered', 'openai/gpt-4o#status;code=400;kind=content-filter')}\
${named('slow', 'openai/gpt-4o#slow;ms=5000', ', timeout: 1')}${named('cut', 'openai/gpt-4o#cut;at=3')}\
${named('"wild/*"', 'openai/*')}
router_settings:
  num_retries: 0
  fallbacks: [{ falls: [gpt-4o] }]
  model_group_alias: { nickname: gpt-4o }
  disable_cooldowns: true
litellm_settings: { drop_params: false, request_timeout: 30 }
general_settings:
  master_key: os.environ/LITELLM_MASTER_KEY
  header_prefix: x-litellm
${isOurs ? '' : '  database_url: os.environ/DATABASE_URL\n'}assistant_settings:
  custom_llm_provider: openai
  litellm_params: { api_base: "{upstream}/v1", api_key: os.environ/UPSTREAM_KEY }
files_settings:
  - { custom_llm_provider: openai, api_base: "{upstream}/v1", api_key: os.environ/UPSTREAM_KEY }
`
  return text.replaceAll('{upstream}', upstream)
}
