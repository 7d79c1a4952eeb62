// The script of pages with a composer.
import "./attaching.js";
import "./commands.js";
import "./composer.js";
import "./dropping.js";
import "./temporary.js";
import "./thread.js";
import "./updates.js";
import "./viewer.js";
