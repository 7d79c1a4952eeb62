// The script of pages with a composer.
import "./commands.js";
import "./composer.js";
import "./thread.js";
import "./updates.js";
