/** Which role may ask for which route: every route of the router stands here, and each role is served as it says. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Endpoint } from '../../src/core/endpoint.ts'
import { allEndpoints } from '../../src/endpoints/index.ts'
import { masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { rolePasses } from './role-passes.ts'
import { scimClient } from './scim-client.ts'

const endpoints = await allEndpoints()

/** Operations by who may ask for them. A route that is added has to be put into one of the lists by hand. */
const listed: Readonly<Record<Endpoint['auth'], string>> = {
  none: `
    checkLiveliness checkReadiness getMetrics getOpenapiDocument getDocsPage getDocsAsset listRoutes
    getWebPage getSignInMetadata askDeviceAuthorization getAccessToken revokeToken
    beginSingleSignOn endSingleSignOn signOutOfSingleSignOn
    listPublicModels
    getLoginPage signIn signOut listSignInMethods getPasswordPage claimInvitation
    getForgottenPasswordPage askForPasswordLink getOnboardingToken claimOnboardingToken`,
  // Every key: calls of models, own objects, and what the caller may see.
  key: `
    passThroughRead passThroughSend passThroughReplace passThroughDelete
    createChatCompletion createCompletion createResponse compactResponse listSpendSessions getSpendSession
    exportSpendSession countResponseInputTokens getResponse
    deleteResponse cancelResponse listResponseInputItems listAssistants createAssistant getAssistant updateAssistant
    deleteAssistant createThread listThreads getThread updateThread deleteThread createThreadMessage listThreadMessages
    getThreadMessage updateThreadMessage deleteThreadMessage createRun createThreadAndRun listRuns getRun updateRun cancelRun
    submitToolOutputs listRunSteps getRunStep createFile listFiles getFile deleteFile getFileContent createBatch
    listBatches getBatch cancelBatch deleteBatch createEmbeddings createModeration createImage editImage
    createImageVariation createSpeech createTranscription createTranslation createRerank createRerankV2 createMessage
    countMessageTokens generateContent streamGenerateContent countContentTokens embedContent batchEmbedContents
    listGeminiModels getGeminiModel refuseOtherModelAction listModels listModelInfo listModelGroups
    listModelInfoPages getModel countTokens
    getDevicePage decideDevice getManagedSettings relayMetrics relayLogs relayTraces
    listSupportedCompatParams listSupportedOpenaiParams transformRequest
    sendMcpMessage endMcpSession listTools callTool listToolServers getToolServer checkToolServers listToolAccessGroups
    getOverview deriveKey getKey getKeys listKeys listKeyAliases getKeyHealth explainKeyLimits getTeam listTeams listTeamPages listAvailableTeams getTeamPermissions
    getUser getUserAlone listUsers listUserRoles getOrganization listOrganizations listOrganizationPages
    listSpendLogs listSpendLogPages countSpendLogs summarizeSpend followSpendLogs getCallBodies deleteCallBodies deleteAllCallBodies listKeySpend listUserSpend listTagSpend listGlobalTagSpend listTagNames listGlobalKeySpend
    listGlobalModelSpend listGlobalProviderSpend getGlobalSpend listGlobalDailySpend listGlobalTeamSpend getSpendReport
    getSpendLog listGlobalEndUserSpend
    getGlobalActivity getGlobalModelActivity listUserDailyActivity listTeamDailyActivity listTagDailyActivity
    listCustomerDailyActivity listOrganizationDailyActivity calculateSpend
    estimateCost listGuardrails applyGuardrail
    listConversations createConversation deleteConversations getConversation updateConversation deleteConversation
    exportConversation createConversationMessage createConversationAnswers followConversationAnswer getConversationAttachment
    stopConversationAnswer getChatSettings updateChatSettings
    getSession listSessions revokeSession revokeSessions setPassword`,
  // Users who are no viewers; what each may touch is decided by its keys and memberships.
  manager: `
    createKey createServiceAccountKey updateKey updateKeys regenerateKey blockKey unblockKey deleteKeys
    createTeam updateTeam deleteTeams updateTeamPermissions addTeamMembers addManyTeamMembers updateTeamMember
    deleteTeamMember resetKeySpend resetTeamSpend createUser updateUser updateOrganization addOrganizationMembers updateOrganizationMember
    deleteOrganizationMember`,
  // Administrators, and those who read everything.
  viewer: `
    listDeploymentHistory listProviderHealth listProviders getModelLatency getCustomer listCustomers listCustomerPages getBudgets getBudgetSettings listBudgets listBudgetPages listBudgetUsage listAuditLog getAuditEntry
    pingCache getCacheRedisInfo getEffectiveConfiguration
    listTags getTags listCredentials getCredential getCredentialOfModel listAccessGroups getAccessGroup
    listUnifiedAccessGroups getUnifiedAccessGroup listGuardrailSettings getGuardrail listGuardrailUsers getCacheActivity`,
  // Administrators alone.
  admin: `
    createToolServer updateToolServer deleteToolServer blockTeam unblockTeam addTeamModels deleteTeamModels updateUsers deleteUsers createOrganization deleteOrganizations
    createCustomer updateCustomer deleteCustomers blockCustomers unblockCustomers createBudget updateBudget deleteBudget
    checkModels createModel updateModel patchModel deleteModel blockModel unblockModel createCredential     updateCredential deleteCredential createAccessGroup updateAccessGroup
    deleteAccessGroup createUnifiedAccessGroup updateUnifiedAccessGroup
    createInvitation withdrawInvitation makeModelsPublic
    deleteUnifiedAccessGroup createGuardrail replaceGuardrail updateGuardrail deleteGuardrail deleteCachedAnswers flushCache createTag updateTag deleteTag
    createScimToken`,
  // Tokens of directories, which pass nothing else, and administrators.
  directory: `
    getScimAbilities listScimResourceTypes getScimResourceType listScimSchemas getScimSchema
    listScimUsers createScimUser getScimUser replaceScimUser patchScimUser deleteScimUser changeScimResources
    listScimGroups createScimGroup getScimGroup replaceScimGroup patchScimGroup deleteScimGroup`,
}

let gateway: Gateway
const keys = new Map<string, string>()
beforeAll(async () => {
  gateway = await startGateway()
  for (const role of Object.keys(rolePasses)) {
    if (role === 'directory') continue
    const made = role === 'key' ? { key: await gateway.key() } : await newUser(role)
    keys.set(role, made.key)
  }
  keys.set('master', masterKey)
  keys.set('directory', (await scimClient(gateway)).token)
})
afterAll(() => gateway.stop())

const newUser = async (role: string) =>
  (await (await gateway.admin('/user/new', { user_id: role, user_role: role })).json()) as { key: string }

test('every route of the router is in the table, under the class that it has', () => {
  const expected = Object.entries(listed).flatMap(([auth, text]) =>
    text
      .trim()
      .split(/\s+/)
      .map(id => `${id} ${auth}`),
  )
  expect(endpoints.map(({ doc, auth }) => `${doc.operationId} ${auth}`).toSorted()).toEqual(expected.toSorted())
})

/** No cache keeps it, no page of another origin shows or embeds it, no browser takes it for something else. */
const isKeptPrivate = ({ headers }: Response): boolean =>
  headers.get('cache-control') === 'no-store' &&
  headers.get('x-content-type-options') === 'nosniff' &&
  (headers.get('x-frame-options') === 'DENY' || headers.get('cross-origin-resource-policy') === 'same-origin') &&
  /^default-src 'none'.*frame-ancestors 'none'/.test(headers.get('content-security-policy') ?? '')

test('each role is refused with 403 where the table refuses it, and nowhere else for its role', async () => {
  const wrong: string[] = []
  for (const [role, key] of keys)
    for (const { method, paths, auth, doc } of endpoints) {
      if (auth === 'none' || (auth === 'key' && role !== 'directory')) continue
      const path = paths[0]!.replaceAll(/\{\w+\+?\}/g, 'none')
      // No JSON, so that nothing is changed where it is let through.
      const body = method === 'GET' ? undefined : '{'
      const answer = await fetch(`${gateway.url}${path}`, { method, body, headers: { authorization: `Bearer ${key}` } })
      const text = await answer.text()
      const isRefused = answer.status === 403 && text.toLowerCase().includes('this operation needs')
      const mayPass = (rolePasses[role] ?? rolePasses.proxy_admin)!.includes(auth)
      if (isRefused === mayPass) wrong.push(`${role} ${doc.operationId}: ${answer.status}`)
      if (method === 'GET' && !isKeptPrivate(answer)) wrong.push(`${role} ${doc.operationId}: may be cached or shown`)
    }
  expect(wrong).toEqual([])
})

test('without a key nothing but the open routes answers', async () => {
  const answered: string[] = []
  for (const { method, paths, auth, doc } of endpoints) {
    if (auth === 'none') continue
    for (const path of paths) {
      const answer = await fetch(`${gateway.url}${path.replaceAll(/\{\w+\+?\}/g, 'none')}`, { method })
      await answer.text()
      if (answer.status !== 401) answered.push(`${doc.operationId} ${path}: ${answer.status}`)
    }
  }
  expect(answered).toEqual([])
})

test('a key asks for the routes that it names, and for no others', async () => {
  const cases: [routes: string[], path: string, may: boolean][] = [
    [['llm_api_routes'], '/v1/models', true],
    [['llm_api_routes'], '/key/info', false],
    [['info_routes'], '/key/info', true],
    [['management_routes'], '/key/info', true],
    [['info_routes'], '/v1/models', false],
    [['/models'], '/v1/models', true],
    [['/v1/threads/{thread_id}'], '/v1/threads/thread_none', true],
    [['/v1/*'], '/v1/models', true],
    [['/v1/*'], '/key/info', false],
  ]
  for (const [allowed_routes, path, may] of cases) {
    const key = await gateway.key({ allowed_routes })
    const { status } = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
    expect([allowed_routes, path, status !== 403]).toEqual([allowed_routes, path, may])
  }
  const key = await gateway.key({ key_type: 'read_only' })
  expect((await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(403)
})
