package geminitest

import "encoding/json"

// The wire types are written down here from the API's reference, and are not those of a client library, so that a library's mistake
// shows.

type wireRequest struct {
	Contents          []wireContent     `json:"contents"`
	SystemInstruction *wireContent      `json:"systemInstruction"`
	Tools             []wireTool        `json:"tools"`
	ToolConfig        *wireToolConfig   `json:"toolConfig"`
	GenerationConfig  *wireGeneration   `json:"generationConfig"`
	SafetySettings    []json.RawMessage `json:"safetySettings"`
	CachedContent     string            `json:"cachedContent"`
	ServiceTier       string            `json:"serviceTier"`
	Store             *bool             `json:"store"`
	Labels            map[string]string `json:"labels"`
	Model             string            `json:"model"`                  // countTokens nests a request that names its model
	Nested            *wireRequest      `json:"generateContentRequest"` // of countTokens
}

type wireContent struct {
	Role  string     `json:"role,omitempty"`
	Parts []wirePart `json:"parts"`
}

type wirePart struct {
	Text             *string           `json:"text,omitempty"`
	InlineData       *wireBlob         `json:"inlineData,omitempty"`
	FileData         json.RawMessage   `json:"fileData,omitempty"`
	FunctionCall     *wireCall         `json:"functionCall,omitempty"`
	FunctionResponse *wireCallResponse `json:"functionResponse,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	ThoughtSignature []byte            `json:"thoughtSignature,omitempty"`
	MediaResolution  json.RawMessage   `json:"mediaResolution,omitempty"`
}

type wireBlob struct {
	MimeType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type wireCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type wireCallResponse struct {
	ID           string            `json:"id,omitempty"`
	Name         string            `json:"name"`
	Response     json.RawMessage   `json:"response,omitempty"`
	Parts        []json.RawMessage `json:"parts,omitempty"`
	WillContinue *bool             `json:"willContinue,omitempty"`
	Scheduling   string            `json:"scheduling,omitempty"`
}

type wireTool struct {
	FunctionDeclarations []wireFunction  `json:"functionDeclarations"`
	ComputerUse          json.RawMessage `json:"computerUse"`
	GoogleSearch         json.RawMessage `json:"googleSearch"`
	CodeExecution        json.RawMessage `json:"codeExecution"`
	URLContext           json.RawMessage `json:"urlContext"`
}

type wireFunction struct {
	Name                 string          `json:"name"`
	Description          string          `json:"description"`
	Parameters           json.RawMessage `json:"parameters"`
	ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
	Response             json.RawMessage `json:"response"`
	ResponseJSONSchema   json.RawMessage `json:"responseJsonSchema"`
	Behavior             string          `json:"behavior"`
}

type wireToolConfig struct {
	FunctionCallingConfig *struct {
		Mode                 string   `json:"mode"`
		AllowedFunctionNames []string `json:"allowedFunctionNames"`
	} `json:"functionCallingConfig"`
	RetrievalConfig json.RawMessage `json:"retrievalConfig"`
}

type wireGeneration struct {
	ResponseMIMEType   string          `json:"responseMimeType"`
	ResponseSchema     json.RawMessage `json:"responseSchema"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
	MaxOutputTokens    *int            `json:"maxOutputTokens"`
	Temperature        *float64        `json:"temperature"`
	ThinkingConfig     *struct {
		IncludeThoughts bool   `json:"includeThoughts"`
		ThinkingBudget  *int   `json:"thinkingBudget"`
		ThinkingLevel   string `json:"thinkingLevel"`
	} `json:"thinkingConfig"`
	TopP               *float64        `json:"topP"`
	TopK               *float64        `json:"topK"`
	CandidateCount     *int            `json:"candidateCount"`
	StopSequences      []string        `json:"stopSequences"`
	Seed               *int            `json:"seed"`
	PresencePenalty    *float64        `json:"presencePenalty"`
	FrequencyPenalty   *float64        `json:"frequencyPenalty"`
	ResponseLogprobs   *bool           `json:"responseLogprobs"`
	Logprobs           *int            `json:"logprobs"`
	ResponseModalities []string        `json:"responseModalities"`
	MediaResolution    string          `json:"mediaResolution"`
	SpeechConfig       json.RawMessage `json:"speechConfig"`
	ImageConfig        json.RawMessage `json:"imageConfig"`
}

type wireResponse struct {
	Candidates     []wireCandidate `json:"candidates,omitempty"`
	PromptFeedback *wireFeedback   `json:"promptFeedback,omitempty"`
	UsageMetadata  wireUsage       `json:"usageMetadata"`
	ModelVersion   string          `json:"modelVersion"`
	ResponseID     string          `json:"responseId"`
}

type wireCandidate struct {
	Content       *wireContent `json:"content,omitempty"`
	FinishReason  string       `json:"finishReason,omitempty"`
	FinishMessage string       `json:"finishMessage,omitempty"`
	SafetyRatings []wireRating `json:"safetyRatings,omitempty"`
	Index         int          `json:"index"`
}

type wireRating struct {
	Category    string `json:"category"`
	Probability string `json:"probability"`
	Blocked     bool   `json:"blocked,omitempty"`
}

type wireFeedback struct {
	BlockReason   string       `json:"blockReason"`
	SafetyRatings []wireRating `json:"safetyRatings,omitempty"`
}

type wireUsage struct {
	PromptTokenCount     int `json:"promptTokenCount"`
	CandidatesTokenCount int `json:"candidatesTokenCount,omitempty"`
	ThoughtsTokenCount   int `json:"thoughtsTokenCount,omitempty"`
	TotalTokenCount      int `json:"totalTokenCount"`
}

// wireError is the body of every refusal: google.rpc.Status as the service renders it in JSON.
type wireError struct {
	Error wireStatus `json:"error"`
}

type wireStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []any  `json:"details,omitempty"`
}
