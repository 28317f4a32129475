/**
 * What reads objects that are made by API. It needs the schema of the configuration file, so it is loaded when there is
 * such an object, or one is sent (`merged-configuration.ts`).
 */
export { checkCredential, connectionOf, SentModels } from './models/api-models.ts'
export { checkedGuardrail, mergedGuardrails, sentGuardrail } from './sent-guardrails.ts'
export { checkedToolServer, mergedToolServers, sentToolServer } from './sent-tool-servers.ts'
