// Every page's script. Pages work without it; it only adds.
// Everything is delegated to the document, so that swapped-in fragments need no set-up.
import "./copying.js";
import "./dialogs.js";
import "./failures.js";
import "./filters.js";
import "./forms.js";
import "./frame.js";
import "./keys.js";
import "./navigation.js";
import "./notices.js";
import "./selecting.js";
import "./toasts.js";
import "./visits.js";
import "./work.js";
import "./worker.js";
